package campaign

import (
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/history"
)

// strangeLink is a link to which another user has connected so often.
type strangeLink struct {
	cluster.Link
	strangers int64
}

func (l *strangeLink) Counts() cluster.LinkCounts { return cluster.LinkCounts{Strangers: l.strangers} }

// strangeMasters are two masters with one link to each.
type strangeMasters struct {
	cluster.Cluster
	links []cluster.Link
}

type namedMaster struct {
	cluster.Master
	name string
}

func (m namedMaster) Name() string { return m.name }

func (s strangeMasters) Masters() []cluster.Master {
	return []cluster.Master{namedMaster{name: "m1"}, namedMaster{name: "m2"}}
}

func (s strangeMasters) Link(_ string, master int) (cluster.Link, error) { return s.links[master], nil }

// TestStrangersAreCountedOnce: each refused connection of another user is one line of the history.
func TestStrangersAreCountedOnce(t *testing.T) {
	one, two := &strangeLink{}, &strangeLink{strangers: 1}
	s := scenario.Defaults()
	s.Clients = 1
	var seen []string
	r := history.NewMemory(history.Header{}, func() time.Duration { return 0 })
	r.Observe(func(op history.Op) {
		if op.F == history.FRefused && op.Value.Client == "c1" && op.Value.Command == "" {
			seen = append(seen, op.Process)
		}
	})
	c := &campaign{s: s, masters: strangeMasters{links: []cluster.Link{one, two}}, recorder: r}
	c.recordStrangers()
	one.strangers = 2
	c.recordStrangers()
	c.recordStrangers()
	if len(seen) != 3 || seen[0] != "m2" || seen[1] != "m1" || seen[2] != "m1" {
		t.Errorf("recorded: %q", seen)
	}
}
