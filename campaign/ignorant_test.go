package campaign

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/redlock"
	"lockpick/workload"
)

// ignorant is a lock that was written for something else than the masters that it is given.
type ignorant struct{ acquire func(context.Context) error }

func (l ignorant) Acquire(ctx context.Context, _ string) (workload.Lease, error) {
	if err := l.acquire(ctx); err != nil {
		return nil, err
	}
	return ignorantLease{}, nil
}

func (ignorant) Close() error { return nil }

type ignorantLease struct{}

func (ignorantLease) Token() string                                  { return "t" }
func (ignorantLease) Until() time.Time                               { return time.Now().Add(time.Hour) }
func (ignorantLease) Fence() int64                                   { return 0 }
func (ignorantLease) Context() context.Context                       { return context.Background() }
func (ignorantLease) Extend(context.Context) (workload.Lease, error) { return nil, redlock.ErrNotHeld }
func (ignorantLease) Release(context.Context) error                  { return nil }

// TestALockThatIgnoresTheSimulatedMastersIsRefused: whether it waits for something real, is
// granted without asking, or gives up, it is refused before a schedule is over.
func TestALockThatIgnoresTheSimulatedMastersIsRefused(t *testing.T) {
	for name, acquire := range map[string]func(context.Context) error{
		"waits-for-something-real": func(context.Context) error { <-t.Context().Done(); return nil },
		"asks-nobody":              func(context.Context) error { return nil },
		"gives-up":                 func(context.Context) error { return errors.New("no connection") },
	} {
		t.Run(name, func(t *testing.T) {
			lock := "ignorant-" + name
			if err := workload.RegisterLock(workload.Implementation{Name: lock, New: func(workload.Env) (workload.Lock, error) { return ignorant{acquire}, nil }}); err != nil {
				t.Fatal(err)
			}
			s := scenario.Defaults()
			s.Driver, s.Lock, s.Faults = scenario.Sim, lock, nil
			_, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
			var problem *scenario.Problem
			if !errors.As(err, &problem) || problem.Field != "lock" || !strings.Contains(problem.Says, lock+" sent nothing to the masters") {
				t.Errorf("got %v, want the lock refused", err)
			}
		})
	}
}

func TestALockThatConnectsIsRefusedByTheSimulator(t *testing.T) {
	const lock = "connects"
	if err := workload.RegisterLock(workload.Implementation{Name: lock, Connects: true}); err != nil {
		t.Fatal(err)
	}
	s := scenario.Defaults()
	s.Driver, s.Lock = scenario.Sim, lock
	_, err := Record(t.Context(), s, Simulation{}.Driver(), Options{})
	var problem *scenario.Problem
	if !errors.As(err, &problem) || problem.Field != "driver" || !strings.Contains(problem.Says, scenario.Virtual) {
		t.Errorf("got %v, want the driver refused and another named", err)
	}
}
