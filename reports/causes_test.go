package reports

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
)

// firstOf is the first violation of mutual exclusion that a few seeds of a scenario have.
func firstOf(t *testing.T, lock string, change func(*scenario.Scenario)) *checker.Violation {
	t.Helper()
	for seed := range uint64(40) {
		s := scenario.Defaults()
		s.Driver, s.Lock, s.Seed, s.Faults, s.Clients, s.TimeLimit = scenario.Sim, lock, seed+1, nil, 3, 10*time.Second
		change(&s)
		h, err := campaign.Simulate(t.Context(), s.WithRequirements(), campaign.SimulateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range checker.Check(h, checker.MutualExclusion).Results {
			if len(r.Violations) > 0 {
				return &r.Violations[0]
			}
		}
	}
	t.Fatal("no seed violates mutual exclusion")
	return nil
}

// TestStoriesNameTheCause: what broke the lock stands in the reason, in the story and among the
// faults that are blamed.
func TestStoriesNameTheCause(t *testing.T) {
	for _, c := range []struct {
		name, lock string
		change     func(*scenario.Scenario)
		says       string // regular expression
		fault      bool
	}{
		{"a late release of an earlier attempt with the same token", "fair-one-token", func(s *scenario.Scenario) {
			s.Faults, s.Persistence, s.Clients = []string{"pause"}, "always", 5
		}, `a release of c\d's own token(, which had been sent at \d+\.\d+s| late)`, false},
		{"a client's clock that ran slow from the beginning", "redlock", func(s *scenario.Scenario) {
			s.Faults, s.ClientRate, s.Hold, s.LongHolds, s.Extend = []string{"client-clock"}, 0.3, "4s..5s", 0, 0
		}, `The clock of c\d(, c\d)*( and c\d)? ran at 0\.3 times the true rate \(client-clock #\d+\)`, true},
		{"a killed master", "redlock", func(s *scenario.Scenario) { s.Faults, s.Nemesis = []string{"kill", "partition"}, scenario.Guided },
			`killed, without persistence \(kill #\d+\)`, true},
		{"a release without the token", "redlock-plain-del", func(*scenario.Scenario) {}, `executed a release of another token by c\d`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := firstOf(t, c.lock, c.change)
			t.Logf("%s", prose(v, 120))
			story := strings.Join(strings.Fields(prose(v, 1000)), " ")
			if !regexp.MustCompile(c.says).MatchString(story) {
				t.Errorf("the story does not say %s:\n%s", c.says, prose(v, 120))
			}
			if reason := strings.Join(v.Steps(), "\n"); !regexp.MustCompile("(?i)" + c.says).MatchString(reason) {
				t.Errorf("the reason does not say %s:\n%s", c.says, reason)
			}
			if c.fault && len(v.Faults) == 0 {
				t.Error("no fault is blamed")
			}
			if slices.ContainsFunc(v.Events, func(e checker.Event) bool { return e.Text == "" }) {
				t.Error("an event has no text")
			}
		})
	}
}
