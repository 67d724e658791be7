package search

import (
	"context"
	"slices"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/campaigntest"
	"lockpick/workload"
)

// neverGrants is a lock that keeps everybody waiting.
type neverGrants struct{ site workload.Env }

func (l neverGrants) Acquire(ctx context.Context, _ string) (workload.Lease, error) {
	_ = l.site.Runtime.Sleep(ctx, 24*time.Hour)
	return nil, ctx.Err()
}

func (neverGrants) Close() error { return nil }

// A lock that never grants violates what says that it must, although nothing else can be said
// of it: the search neither ends with the first schedule, nor calls it inconclusive.
func TestALockThatNeverGrantsViolatesLiveness(t *testing.T) {
	locks := workload.Locks
	t.Cleanup(func() { workload.Locks = locks })
	workload.Locks = append(slices.Clone(locks), workload.Implementation{Name: "never-grants", New: func(s workload.Env) (workload.Lock, error) { return neverGrants{s}, nil }})
	s := campaigntest.Simulated(func(s *scenario.Scenario) {
		s.Lock, s.Persistence, s.Faults = "never-grants", "always", []string{"kill"}
	})
	x := mustExplore(t, ExploreOptions{Base: s, Schedules: 10, Properties: []string{"L2", "DF", "AV"}})
	if x.Verdict() != checker.Violated || x.Schedules != 10 || x.Counts.Granted != 0 {
		t.Errorf("%s after %d schedules with %d leases", x.Verdict(), x.Schedules, x.Counts.Granted)
	}
	for _, p := range x.Properties {
		want, known := map[checker.Property]checker.Verdict{
			checker.MutualExclusion: checker.Invalid, checker.DeadlockFree: checker.Violated, checker.Availability: checker.Violated, checker.Progress: checker.Violated,
		}[p.Property]
		if known && p.Verdict != want {
			t.Errorf("%s is %s, want %s: %s", p.Name, p.Verdict, want, p.Why)
		}
	}
	x = mustExplore(t, ExploreOptions{Base: s, Schedules: 10, Properties: []string{"DF", "AV"}})
	if x.Verdict() != checker.Violated || !x.Settled || x.Schedules != 1 || x.Found[0].Property != checker.DeadlockFree {
		t.Errorf("%s after %d schedules: %+v", x.Verdict(), x.Schedules, x.Found)
	}
}
