package sim

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/cluster"
	"lockpick/cluster/sim/world"
	"lockpick/history"
	"lockpick/history/fault"
)

// TestGuidedNemesisUsesEveryKindInTheFirstQuarter: whatever kinds of fault are asked for
// together, each strikes within the first quarter of the run, or the history says why it
// could not.
func TestGuidedNemesisUsesEveryKindInTheFirstQuarter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := campaign{
			lock:        rapid.SampledFrom([]string{"redlock", "single", "textbook"}).Draw(t, "lock"),
			persistence: rapid.SampledFrom(cluster.Persistences).Draw(t, "persistence"),
			clients:     rapid.IntRange(1, 5).Draw(t, "clients"),
			faults:      rapid.SliceOfNDistinct(rapid.SampledFrom(fault.NamesOn("sim")), 1, -1, rapid.ID).Draw(t, "faults"),
			replicas:    rapid.IntRange(0, 2).Draw(t, "replicas"),
			ttl:         time.Duration(rapid.IntRange(100, 5000).Draw(t, "ttl in ms")) * time.Millisecond,
			limit:       time.Duration(rapid.IntRange(1, 12).Draw(t, "limit in s")) * time.Second,
			seed:        rapid.Uint64().Draw(t, "seed"),
			guided:      true,
		}
		var out bytes.Buffer
		if err := c.run(&out, world.New(c.seed)); err != nil {
			t.Fatal(err)
		}
		h, err := history.Read(&out)
		if err != nil {
			t.Fatal(err)
		}
		first := map[string]*history.Fault{}
		for _, f := range history.Faults(h.Ops) {
			if first[f.Name] == nil {
				first[f.Name] = f
			}
		}
		for _, name := range c.faults {
			switch f := first[name]; {
			case f == nil:
				t.Errorf("%s was asked for, and neither struck nor was skipped", name)
			case f.Began > c.limit/4:
				t.Errorf("%s struck first at %v of %v", name, f.Began, c.limit)
			case !f.Installed && f.Skipped == "":
				t.Errorf("%s was neither installed nor skipped with a reason", name)
			}
		}
	})
}
