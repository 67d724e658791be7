package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/waittest"
	"lockpick/workload"
)

// misbehaving is redlock, whose releases do something that no call may do: the third one
// does, and all that follow it.
const misbehaving = "redlock-that-misbehaves"

var registeredForTests atomic.Int64

// registerForTest makes a lock known for the rest of the program, by a name of its own. A world that was left
// to itself may go on beside the next test and look for its lock, so the list of locks itself must not change.
func registerForTest(t *testing.T, k workload.Implementation) (name string) {
	t.Helper()
	k.Bug = "of a test"
	k.Name = fmt.Sprintf("%s-%d", k.Name, registeredForTests.Add(1))
	if err := workload.RegisterLock(k); err != nil {
		t.Fatal(err)
	}
	return k.Name
}

type badRelease func(s workload.Env)

// withMisbehaving adds that lock to the locks under test, and returns its name.
func withMisbehaving(t *testing.T, bad badRelease) string {
	right, _ := workload.LockNamed("redlock")
	var releases atomic.Int64
	return registerForTest(t, workload.Implementation{Name: misbehaving, New: func(s workload.Env) (workload.Lock, error) {
		l, err := right.New(s)
		return badLock{l, s, &releases, bad}, err
	}})
}

type badLock struct {
	workload.Lock
	site     workload.Env
	releases *atomic.Int64
	bad      badRelease
}

func (l badLock) Acquire(ctx context.Context, key string) (workload.Lease, error) {
	lease, err := l.Lock.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return badLease{lease, l}, nil
}

type badLease struct {
	workload.Lease
	lock badLock
}

func (l badLease) Extend(ctx context.Context) (workload.Lease, error) {
	longer, err := l.Lease.Extend(ctx)
	if err != nil {
		return nil, err
	}
	return badLease{longer, l.lock}, nil
}

func (l badLease) Release(ctx context.Context) error {
	if l.lock.releases.Add(1) >= 3 {
		l.lock.bad(l.lock.site)
	}
	return l.Lease.Release(ctx)
}

// TestCallsThatDoNotReturn: a call of a lock that never returns ends no run and is recorded,
// with where it is stuck.
func TestCallsThatDoNotReturn(t *testing.T) {
	every := standstillEvery
	standstillEvery = 50 * time.Millisecond
	t.Cleanup(func() { standstillEvery = every })
	for _, c := range []struct {
		name string
		bad  func(over <-chan struct{}) badRelease
		only string // driver; empty: each
		says string
	}{
		{"waits for ever", func(over <-chan struct{}) badRelease {
			return func(s workload.Env) {
				for ended(over) == nil {
					_ = s.Runtime.Sleep(context.Background(), time.Second)
				}
			}
		}, "", "badLease.Release"},
		{"blocks", func(over <-chan struct{}) badRelease {
			return func(workload.Env) { <-over }
		}, "", "chan receive"},
		{"computes", func(over <-chan struct{}) badRelease {
			return func(workload.Env) {
				for ended(over) == nil { // it never waits
				}
			}
		}, scenario.Sim, "hung_test.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEachDriver(t, func(t *testing.T, driver string) {
				if c.only != "" && driver != c.only {
					t.Skipf("only on the driver %s: elsewhere it only takes a processor's time", c.only)
				}
				over := make(chan struct{})
				defer close(over)
				lock := withMisbehaving(t, c.bad(over))
				var h *history.History
				var r *judge.Result
				waittest.Returns("the run", func() {
					h, r = mustRun(t, shortScenario(driver, func(s *scenario.Scenario) {
						s.Lock, s.Faults, s.TimeLimit, s.TTL, s.Hold = lock, []string{"pause"}, 3*time.Second, 500*time.Millisecond, "0s..50ms"
					}))
				})
				i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.F == history.FHung })
				if i < 0 {
					t.Fatal("the history does not say that a call hung")
				}
				op := h.Ops[i]
				if op.Process == "" || op.Key != "k0" || op.Value.Command != history.CommandRelease || op.Value.Took < time.Second || !strings.Contains(op.Value.Evidence, c.says) {
					t.Errorf("%+v %+v\nwant a release of k0, with %q", op, op.Value, c.says)
				}
				if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "did not return from release") }) {
					t.Errorf("the notes %q do not tell of it", r.Notes)
				}
				if c.name == "waits for ever" && r.CutShort != "" {
					t.Errorf("the run did not come to its end: %s", r.CutShort)
				}
			})
		})
	}
}

// TestLocksThatAreNeverMade: a lock that hangs while it is made ends no run, and the other
// clients go on without it.
func TestLocksThatAreNeverMade(t *testing.T) {
	every := standstillEvery
	standstillEvery = 50 * time.Millisecond
	t.Cleanup(func() { standstillEvery = every })
	for name, hang := range map[string]func(s workload.Env, over <-chan struct{}){
		"waits for ever": func(s workload.Env, over <-chan struct{}) {
			for ended(over) == nil {
				_ = s.Runtime.Sleep(context.Background(), time.Second)
			}
		},
		"blocks": func(_ workload.Env, over <-chan struct{}) { <-over },
	} {
		t.Run(name, func(t *testing.T) {
			onEachDriver(t, func(t *testing.T, driver string) {
				if name != "blocks" && driver != scenario.Sim {
					t.Skipf("only on the driver %s: elsewhere it is the same as to block", scenario.Sim)
				}
				over := make(chan struct{})
				stands := driver == scenario.Sim && name == "blocks"
				if !stands { // a world that was left to itself would go on beside the next test
					defer close(over)
				}
				right, _ := workload.LockNamed("redlock")
				lock := registerForTest(t, workload.Implementation{Name: misbehaving, New: func(s workload.Env) (workload.Lock, error) {
					if s.Client == "c2" {
						hang(s, over)
					}
					return right.New(s)
				}})
				h, r := mustRun(t, shortScenario(driver, func(s *scenario.Scenario) {
					s.Lock, s.Faults, s.TimeLimit, s.TTL, s.Hold = lock, nil, 3*time.Second, 500*time.Millisecond, "0s..50ms"
				}))
				i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.F == history.FHung })
				if i < 0 {
					t.Fatal("the history does not say that a call hung")
				}
				if op := h.Ops[i]; op.Process != "c2" || op.Value.Command != "new" || !strings.Contains(op.Value.Evidence, "TestLocksThatAreNeverMade") {
					t.Errorf("%+v %+v", op, op.Value)
				}
				if v := r.ResultsFor([]string{checker.Returns.Name}); len(v) != 1 || v[0].Verdict != checker.Violated {
					t.Errorf("returns: %+v, want it violated", v)
				}
				granted := slices.ContainsFunc(h.Ops, func(op history.Op) bool { return op.F == history.FAcquire && op.Type == history.OK })
				if !granted && !stands {
					t.Error("the other clients were granted nothing")
				}
			})
		})
	}
}

func ended(over <-chan struct{}) error {
	select {
	case <-over:
		return errors.New("the test is over")
	default:
		return nil
	}
}

// TestLocksThatPanic: a lock that panics ends its client's life, and not the run.
func TestLocksThatPanic(t *testing.T) {
	onEachDriver(t, func(t *testing.T, driver string) {
		for name, bad := range map[string]badRelease{
			"in a call":         func(workload.Env) { panic("out of cheese") },
			"in the background": func(s workload.Env) { s.Runtime.Go(func() { panic("out of cheese") }) },
		} {
			t.Run(name, func(t *testing.T) {
				lock := withMisbehaving(t, bad)
				h, r := mustRun(t, shortScenario(driver, func(s *scenario.Scenario) {
					s.Lock, s.Faults, s.TimeLimit, s.TTL, s.Hold = lock, nil, 3*time.Second, 500*time.Millisecond, "0s..50ms"
				}))
				i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.F == history.FPanicked })
				if i < 0 {
					t.Fatal("the history does not say that the lock panicked")
				}
				op := h.Ops[i]
				if op.Error != "out of cheese" || !strings.Contains(op.Value.Evidence, "TestLocksThatPanic") {
					t.Errorf("%+v %+v", op, op.Value)
				}
				if !slices.ContainsFunc(h.Ops[i:], func(next history.Op) bool { return next.F == history.FCrash && next.Process == op.Process }) {
					t.Errorf("%s did not crash after its lock had panicked", op.Process)
				}
				if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "out of cheese") }) {
					t.Errorf("the notes %q do not tell of it", r.Notes)
				}
				if r.CutShort != "" {
					t.Errorf("the run did not come to its end: %s", r.CutShort)
				}
			})
		}
	})
}
