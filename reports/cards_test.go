package reports

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
)

// TestPicturesOfTheDocs: the pictures in docs/pictures are what show draws of these runs today. After a change that is
// meant, look at the new ones: go test ./reports -run TestPicturesOfTheDocs -rewrite.
func TestPicturesOfTheDocs(t *testing.T) {
	for name, change := range map[string]func(*scenario.Scenario){
		"kill":         func(s *scenario.Scenario) { s.Faults, s.Seed = []string{"kill", "partition"}, 2 },
		"client-pause": func(s *scenario.Scenario) { s.Faults, s.Fencing = []string{"client-pause"}, true },
		"extension": func(s *scenario.Scenario) {
			s.Lock, s.Persistence, s.Faults, s.Extend = "redlock-extend-lies", "always", []string{"partition", "pause"}, 1
		},
		"failover": func(s *scenario.Scenario) { s.Lock, s.Masters, s.Faults = "single", 1, []string{"failover"} },
		"availability": func(s *scenario.Scenario) {
			s.Lock, s.Faults, s.Properties = "setnx", []string{"client-kill"}, []string{"DF"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenario.Defaults()
			s.Driver, s.Seed, s.Nemesis, s.TimeLimit, s.Name = scenario.Sim, 1, scenario.Guided, 20*time.Second, name
			change(&s)
			h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := judge.History(h)
			if err != nil {
				t.Fatal(err)
			}
			x := &Export{History: h, Result: r, Violation: firstViolation(r)}
			if x.Violation == nil {
				t.Fatal("nothing is violated")
			}
			r.Command = s.Command()
			got := []byte(exportAs(t, x, "card"))
			path := filepath.Join("..", "docs", "pictures", name+".card.svg")
			if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is not what is drawn today (%v)", path, err)
			}
		})
	}
}
