package campaign

import (
	"context"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/workload"
)

// wall is redlock with one bug: it notes until when a lease is valid as the time of day,
// and so relies on a clock that steps (redlock-rb #50).
const wall = "redlock-on-the-wall-clock"

// withWall adds it to the locks under test, and returns what takes it away.
func withWall() func() {
	all := workload.Locks
	right, _ := workload.LockNamed("redlock")
	workload.Locks = append(workload.Locks, workload.Implementation{Name: wall, Fencing: true, New: func(s workload.Env) (workload.Lock, error) {
		inner := s
		inner.Hooks.Ended = nil // nobody is told by another clock than this lock's
		l, err := right.New(inner)
		return wallLock{l, s}, err
	}})
	return func() { workload.Locks = all }
}

type wallLock struct {
	workload.Lock
	site workload.Env
}

func (l wallLock) Acquire(ctx context.Context, key string) (workload.Lease, error) {
	lease, err := l.Lock.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return l.noted(lease), nil
}

func (l wallLock) noted(lease workload.Lease) workload.Lease {
	return wallLease{lease, l, l.site.Wall().Add(lease.Until().Sub(l.site.Runtime.Now()))}
}

type wallLease struct {
	workload.Lease
	lock  wallLock
	until time.Time // of day
}

func (l wallLease) Until() time.Time {
	return l.lock.site.Runtime.Now().Add(l.until.Sub(l.lock.site.Wall()))
}

// Context does not end with the lease: who measures with the wall clock has no timer.
func (l wallLease) Context() context.Context { return context.Background() }

func (l wallLease) Extend(ctx context.Context) (workload.Lease, error) {
	longer, err := l.Lease.Extend(ctx)
	if err != nil {
		return nil, err
	}
	return l.lock.noted(longer), nil
}

// TestWallClock: a step of a client's wall clock breaks a lock that looks at it, and
// nothing else (the catalogue's claims 13 and 50, and its bug b14).
func TestWallClock(t *testing.T) {
	t.Cleanup(withWall())
	for _, c := range []struct {
		name, lock, clock, clients, want string
	}{
		{"back", wall, "-60s", scenario.Goroutines, "L2 violated"},
		{"back, in processes", wall, "-60s", scenario.Processes, "L2 violated"},
		{"back, but it is not read", "redlock", "-60s", scenario.Goroutines, "L2 holds"},
		{"back, but it is not read, in processes", "redlock", "-60s", scenario.Processes, "L2 holds"},
		{"strobing, but it is not read", "redlock", "~10s", scenario.Goroutines, "L2 holds"},
		{"right", wall, "", scenario.Goroutines, "L2 holds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			exceptOnDocker(t, "clients' clocks are changed in the same way on all drivers: shown with processes", func(t *testing.T, driver string) {
				if driver == scenario.Sim && c.clients == scenario.Processes {
					t.Skip("simulated masters have no processes for clients")
				}
				h, r := mustShow(t, shortScenario(driver, func(s *scenario.Scenario) {
					s.Lock, s.ClientsAs, s.Faults, s.Extend, s.TimeLimit = c.lock, c.clients, nil, 0, 15*time.Second
					s.Hold, s.LongHolds = "3s..4s", 0
					s.StopOnViolation = c.want == "L2 violated"
					if c.clock != "" {
						s.Schedule = []scenario.Step{{Fault: "client-clock", After: "any enters any", For: time.Minute, Clock: c.clock}}
					}
				}), c.want)
				if c.clock == "" {
					return
				}
				if r.Counts.TookEffect != 1 {
					t.Errorf("%d faults bit", r.Counts.TookEffect)
				}
				if v := verdictAt(r, "L2"); len(v.Violations) > 0 {
					if reason := strings.Join(v.Violations[0].Reason, "\n"); !strings.Contains(reason, "clock was changed") {
						t.Errorf("the reason does not say that a clock was changed:\n%s", reason)
					}
				}
				stepped := false
				for _, op := range h.Ops {
					stepped = stepped || op.F == history.FClock && op.Value.Offset != nil && *op.Value.Offset != 0
				}
				if !stepped {
					t.Error("the history does not tell of the step")
				}
			})
		})
	}
}
