package exhaust

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/cluster/sim/world"
	"lockpick/workload"
)

// TestCallsThatFail: a call of a lock that never returns, or that panics, is what the search
// finds, and no error of the harness.
func TestCallsThatFail(t *testing.T) {
	every := standstillEvery
	standstillEvery = 20 * time.Millisecond
	t.Cleanup(func() { standstillEvery = every })
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	wait := func(s workload.Env) {
		for {
			select {
			case <-over:
				return
			default:
				_ = s.Runtime.Sleep(context.Background(), time.Second)
			}
		}
	}
	for _, c := range []struct {
		name    string
		make    func(workload.Env)
		acquire func(workload.Env)
		judged  checker.Property
		says    []string
	}{
		{name: "waits for ever", acquire: wait, judged: checker.Returns, says: []string{"acquire", "virtual time"}},
		{name: "blocks", acquire: func(workload.Env) { <-over }, judged: checker.Returns, says: []string{"acquire", "chan receive", "TestCallsThatFail"}},
		{name: "is never made", make: func(workload.Env) { <-over }, judged: checker.Returns, says: []string{"new", "chan receive"}},
		{name: "panics", acquire: func(workload.Env) { panic("out of cheese") }, judged: checker.NoCrash, says: []string{"acquire", "out of cheese", "TestCallsThatFail"}},
		{name: "panics beside", acquire: func(s workload.Env) { s.Runtime.Go(func() { panic("out of cheese") }) }, judged: checker.NoCrash, says: []string{"background", "out of cheese"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := workload.Locks
			t.Cleanup(func() { workload.Locks = all })
			right, _ := workload.LockNamed("redlock")
			workload.Locks = append(slices.Clone(all), workload.Implementation{Name: "redlock-that-fails", New: func(s workload.Env) (workload.Lock, error) {
				if c.make != nil && s.Client == "c2" {
					c.make(s)
				}
				l, err := right.New(s)
				return failing{l, s, c.acquire}, err
			}})
			b := DefaultBounds()
			b.Lock, b.Persistence = "redlock-that-fails", "always"
			x, err := Run(t.Context(), Options{Bounds: b})
			if err != nil {
				t.Fatal(err)
			}
			if x.Verdict != checker.Violated || x.Judged != c.judged || x.History == nil {
				t.Fatalf("%s of %s: %s", x.Verdict, x.Judged.Name, x.Why)
			}
			text := x.Why + "\n" + strings.Join(x.Violation.Reason, "\n")
			for _, op := range x.History.Ops {
				if op.Value != nil {
					text += "\n" + op.F + " " + op.Value.Command + " " + op.Value.Evidence + op.Error
				}
			}
			for _, s := range c.says {
				if !strings.Contains(text, s) {
					t.Errorf("no %q in\n%s", s, text)
				}
			}
		})
	}
}

// TestCallThatFailsInSomeSchedules: a call that fails only if its client begins late ends the search.
func TestCallThatFailsInSomeSchedules(t *testing.T) {
	every := standstillEvery
	standstillEvery = 20 * time.Millisecond
	t.Cleanup(func() { standstillEvery = every })
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	for name, c := range map[string]struct {
		fail   func()
		judged checker.Property
	}{
		"panics": {func() { panic("out of cheese") }, checker.NoCrash},
		"hangs":  {func() { <-over }, checker.Returns},
	} {
		t.Run(name, func(t *testing.T) {
			all := workload.Locks
			t.Cleanup(func() { workload.Locks = all })
			right, _ := workload.LockNamed("redlock")
			workload.Locks = append(slices.Clone(all), workload.Implementation{Name: "redlock-that-fails", New: func(s workload.Env) (workload.Lock, error) {
				l, err := right.New(s)
				return failing{l, s, func(s workload.Env) {
					if s.Runtime.Now().Sub(world.Epoch) == 2*DefaultBounds().Tick { // c2 begins at the last of its ticks
						c.fail()
					}
				}}, err
			}})
			e := Options{Bounds: DefaultBounds()}
			e.Bounds.Lock, e.Bounds.Persistence, e.Bounds.Masters = "redlock-that-fails", "always", 1
			x, err := Run(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if x.Verdict != checker.Violated || x.Judged != c.judged || x.History == nil {
				t.Errorf("%s of %s at %v: %s", x.Verdict, x.Judged.Name, x.At, x.Why)
			}
		})
	}
}

// failing is redlock, whose second acquire does something first.
type failing struct {
	workload.Lock
	env workload.Env
	bad func(workload.Env)
}

func (l failing) Acquire(ctx context.Context, key string) (workload.Lease, error) {
	if l.bad != nil && l.env.Client == "c2" {
		l.bad(l.env)
	}
	if ctx.Err() != nil {
		return nil, errors.New("too late")
	}
	return l.Lock.Acquire(ctx, key)
}
