package campaign

import (
	"fmt"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
)

// healedAt is when the faults of a run had healed: soon after it was told to stop.
func healedAt(h *history.History) time.Duration {
	for _, op := range h.Ops {
		if op.F == history.FHealed {
			return op.Time
		}
	}
	return h.Ops[len(h.Ops)-1].Time
}

// A run stops at the first violation of the property that was asked for, whichever it is, and is
// judged the same when it has ended. The same lock without the bug runs to its end.
func TestRunsStopAtAViolationOfAnyProperty(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	const limit = time.Minute
	tried := sampletest.Of(t, 4, 2)
	for i, c := range plantedBugs() {
		if !tried(i) {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", c.lock, c.property.Name), func(t *testing.T) {
			run := func(lock string, seed uint64) (stopped time.Duration, violated bool) {
				s := c.scenario(lock, seed)
				if c.property == checker.Progress { // it is about times at which nothing is wrong
					s.Faults, s.Schedule = nil, []scenario.Step{{Fault: "partition", At: time.Second, For: time.Second, Clients: []string{"all"}, Masters: []string{"minority"}}}
					s.Clients, s.Keys, s.TTL, s.Hold, s.LongHolds = 12, 1, 10*time.Second, "0s..100ms", 0
				}
				s.TimeLimit, s.StopOnViolation, s.Properties = limit, true, []string{c.property.Name}
				h, rep := judgedRun(t, s)
				r := rep.Result(c.property)
				return healedAt(h), r != nil && r.Verdict == checker.Violated
			}
			early := false
			for seed := uint64(0); seed < 40 && !early; seed++ {
				stopped, violated := run(c.lock, seed)
				if early = stopped < limit*9/10; early && !violated {
					t.Errorf("seed %d: the run stopped at %v, and then nothing was violated", seed, stopped)
				}
			}
			if !early {
				t.Error("no run stopped early")
			}
			for seed := range uint64(1) {
				if stopped, _ := run(c.twin, seed); stopped < limit {
					t.Errorf("seed %d: %s stopped at %v", seed, c.twin, stopped)
				}
			}
		})
	}
}
