package campaign

import (
	"fmt"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/campaigntest"
)

// A run that stops with its evidence has what the verdict on mutual exclusion needs, is much shorter than its time limit, and is
// the same each time.
func TestARunStopsWithItsEvidence(t *testing.T) {
	for _, steps := range [][]scenario.Step{
		{{Fault: "partition", At: time.Second, For: time.Second, Clients: []string{"c1"}, Masters: []string{"m1"}}},
		{{Fault: "kill", After: "any acquires any", Masters: []string{"m1"}}, {Fault: "pause", After: "step 1", For: time.Second, Masters: []string{"m2"}}},
		nil, // the guided nemesis
	} {
		s := campaigntest.Simulated(func(s *scenario.Scenario) {
			s.Persistence, s.Clients, s.Hold, s.LongHolds, s.TimeLimit, s.Schedule = "always", 3, "0s..100ms", 0, time.Minute, steps
			s.StopAfter = checker.MinEvidence
		})
		h, r := judgedRun(t, s)
		v := r.Result(checker.MutualExclusion)
		if v == nil || v.Verdict != checker.Holds {
			t.Errorf("%v: %+v", steps, v)
		}
		if healed := healedAt(h); healed > s.TimeLimit/2 {
			t.Errorf("%v: stopped at %v", steps, healed)
		}
		again, _ := judgedRun(t, s)
		if len(again.Ops) != len(h.Ops) || healedAt(again) != healedAt(h) {
			t.Errorf("%v: %d operations, and then %d", steps, len(h.Ops), len(again.Ops))
		}
	}
}

// A run goes on to its time limit as long as a step has not struck, or too few acquisitions are contended.
func TestARunWithoutEvidenceGoesOn(t *testing.T) {
	for name, change := range map[string]func(*scenario.Scenario){
		"a step": func(s *scenario.Scenario) {
			s.Schedule = []scenario.Step{{Fault: "pause", At: 9 * time.Second, For: time.Second, Masters: []string{"m1"}}}
		},
		"one client": func(s *scenario.Scenario) { s.Clients, s.Faults = 1, nil },
		"too few":    func(s *scenario.Scenario) { s.StopAfter, s.Faults = 100_000, nil },
	} {
		s := campaigntest.Simulated(func(s *scenario.Scenario) {
			s.Persistence, s.Clients, s.Hold, s.LongHolds, s.TimeLimit, s.StopAfter = "always", 3, "0s..100ms", 0, 10*time.Second, checker.MinEvidence
			change(s)
		})
		h, err := Record(t.Context(), s, Simulation{}.Driver(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var last time.Duration
		for i := range h.Ops {
			if op := &h.Ops[i]; op.F == history.FAcquire && op.Type == history.OK {
				last = op.Time
			}
		}
		if last < s.TimeLimit*9/10 {
			t.Errorf("%s: the last acquire before the end was at %v", name, last)
		}
	}
}

// Acquisitions of other kinds of locks count as contended where the checker counts them: a reader does not wait for readers.
func TestEnoughCountsAsTheCheckerDoes(t *testing.T) {
	for _, c := range []struct {
		lock   string
		faults []string
	}{{"redlock", nil}, {"redlock", []string{"client-kill"}}, {"rw", nil}, {"rw", []string{"client-kill"}}, {"semaphore", nil}, {"semaphore", []string{"client-kill"}}, {"reentrant", nil}} {
		lock := fmt.Sprint(c.lock, " ", c.faults)
		s := campaigntest.Simulated(func(s *scenario.Scenario) {
			s.Lock, s.Clients, s.Hold, s.LongHolds, s.TimeLimit, s.Faults, s.StopAfter = c.lock, 4, "0s..100ms", 0, 20*time.Second, c.faults, 1_000_000
		})
		h, r := judgedRun(t, s)
		e := newEnough(&s, h.Header.LockKind())
		for i := range h.Ops {
			e.observe(&h.Ops[i])
		}
		v := r.Result(checker.MutualExclusion)
		if v == nil || len(v.Evidence) == 0 || v.Evidence[0].Got == 0 || v.Evidence[0].Got != e.contended {
			t.Errorf("%s: the checker counts %+v, enough %d", lock, v, e.contended)
		}
	}
}
