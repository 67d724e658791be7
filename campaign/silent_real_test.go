//go:build real

package campaign

import (
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/history"
)

// TestAMasterWithoutAProcessorConvictsNobody: after all faults the master stands still, as one does that gets no processor or waits
// for its disk. Nobody is granted the lock, and that is not the lock's fault.
func TestAMasterWithoutAProcessorConvictsNobody(t *testing.T) {
	capture(t)
	for range 5 { // the final check may be over before the master can be stopped in it
		got := make(chan cluster.Cluster, 1)
		var once sync.Once
		live := func(s Status) {
			if s.Stage == FinalCheck {
				once.Do(func() {
					if err := syscall.Kill(foreignTo(t, scenario.Process, <-got, 0).pid, syscall.SIGSTOP); err != nil {
						t.Error(err)
					}
				})
			}
		}
		_, h, r, err := Run(context.WithValue(t.Context(), mastersOf{}, got), shortScenario(scenario.Process, func(s *scenario.Scenario) {
			s.Masters, s.Lock, s.Faults, s.TTL, s.TimeLimit, s.Keys, s.Clients = 1, "single", nil, 500*time.Millisecond, 2*time.Second, 4, 2
		}), Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Live: live})
		if err != nil {
			t.Fatal(err)
		}
		healed := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.F == history.FHealed && op.Type != history.Fail })
		if healed < 0 || !slices.ContainsFunc(h.Ops[healed:], func(op history.Op) bool { return op.F == history.FAcquire && op.Type == history.Fail }) {
			continue
		}
		for _, v := range r.Verdicts {
			if v.Verdict == checker.Violated {
				t.Errorf("%s is violated: %s", v.Name, v.Why)
			}
		}
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "m1 gave no answer, and no fault was in force") }) {
			t.Errorf("the notes do not tell of it: %q", r.Notes)
		}
		return
	}
	t.Fatal("in no run was the master stopped before the final check was over")
}
