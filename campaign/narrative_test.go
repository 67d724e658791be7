package campaign

import (
	"slices"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
)

// TestNoStoryInventsAVote: an extension that no master granted is told without votes, whatever the extension before it had.
func TestNoStoryInventsAVote(t *testing.T) {
	s := scenario.Defaults()
	s.Driver, s.Lock, s.Persistence, s.Faults, s.Extend, s.TimeLimit, s.Seed = scenario.Sim, "redlock-extend-lies", "always", []string{"partition", "pause"}, 1, 30*time.Second, 1
	h, err := Simulate(t.Context(), s.WithRequirements(), SimulateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, r := range checker.Check(h, checker.Extension).Results {
		for _, v := range r.Violations {
			for _, e := range v.Events {
				if e.Kind != narrative.EventExtended || e.At != v.At {
					continue
				}
				told++
				for _, m := range e.Yes {
					for _, x := range v.Events {
						if x.Kind == narrative.EventAnswered && x.At == e.At && slices.Contains(x.Silent, m) {
							t.Errorf("%q after %q", e.Text, x.Text)
						}
					}
				}
			}
		}
	}
	if told == 0 {
		t.Error("nothing was violated")
	}
}
