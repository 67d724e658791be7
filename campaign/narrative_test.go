package campaign

import (
	"slices"
	"strings"
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
	h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
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

// TestStoriesSayWhatBecameOfSharedKeys: the votes of a lock that several may hold do not say what its commands did to the key, so
// the story has the changes, with who made them.
func TestStoriesSayWhatBecameOfSharedKeys(t *testing.T) {
	for lock, want := range map[string]string{
		"rw-short-reader":          "set the time to live of k0 to 0.200s on m1",
		"semaphore-declared-anew":  "changed k0 on m1",
		"reentrant-inner-shortens": "set the time to live of k0 to 0.200s on m1",
		"reentrant-inner-frees":    "deleted k0 on m1",
	} {
		t.Run(lock, func(t *testing.T) {
			s := scenario.Defaults()
			s.Driver, s.Lock, s.Faults, s.TimeLimit, s.Seed = scenario.Sim, lock, nil, 20*time.Second, 1
			h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			violations := checker.Check(h, checker.MutualExclusion).Results[0].Violations
			if !slices.ContainsFunc(violations, func(v narrative.Violation) bool {
				return slices.ContainsFunc(v.Events, func(e narrative.Event) bool {
					return e.Kind == narrative.EventChanged && e.Client != "" && strings.Contains(e.Text, want)
				})
			}) {
				t.Errorf("no story of %d has %q", len(violations), want)
			}
		})
	}
}
