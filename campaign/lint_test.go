package campaign

import (
	"slices"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/watch"
)

// TestRunsNameBrokenRules: a run of a lock whose commands break a rule of lockpick watch names the rule, and a run of
// a lock that is right names none. A hint convicts nothing.
func TestRunsNameBrokenRules(t *testing.T) {
	for lock, rule := range map[string]string{
		"set-get-del": "get-then-delete", "set-del": "bare-delete", "setnx": "no-ttl", "setnx-expire": "setnx-then-expire", "redlock-weak-token": "weak-token",
		"redlock-plain-del": "bare-delete", "set-broken-lua": "script-fails",
		"textbook": "", "textbook-single": "", "redlock": "", "redlock-evalsha": "", "single": "", "fair": "",
	} {
		s := scenario.Defaults()
		s.Lock, s.Driver, s.Seed, s.TimeLimit, s.Faults = lock, scenario.Sim, 1, 5*time.Second, nil
		if rule == "" { // right, also where masters do not answer and a release comes late
			s.TimeLimit, s.Faults, s.Persistence = 30*time.Second, []string{"kill", "partition", "pause", "slow"}, "always"
		}
		if err := s.Check(); err != nil {
			t.Fatal(lock, err)
		}
		h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{Lint: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := judge.History(h)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, x := range r.Hints {
			if x.Severity == watch.Error {
				found = append(found, x.ID)
			}
		}
		if rule != "" && !slices.Contains(found, rule) || rule == "" && len(found) > 0 {
			t.Errorf("%s: the run names %v, want %q", lock, found, rule)
		}
		if lock == "set-get-del" && r.Conclude(nil).Verdict == checker.Violated {
			t.Errorf("%s: a hint decides the verdict: %s", lock, r.Conclude(nil).Why)
		}
	}
}

// TestRulesNameLevels: each rule says which levels its breach may break.
func TestRulesNameLevels(t *testing.T) {
	for _, r := range watch.Rules {
		if len(r.Explains) == 0 || slices.ContainsFunc(r.Explains, func(l string) bool { return !slices.Contains(checker.Levels(), l) }) {
			t.Errorf("%s explains %v, want levels of %v", r.ID, r.Explains, checker.Levels())
		}
	}
}
