package locktest

import (
	"context"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/history"
	"lockpick/workload"
)

// flushes is the simple lock of a careless program: at first it flushes each Redis, in a transaction and without one.
func flushes(env Env) (Lock, error) {
	inner, err := simple(env)
	first := env.Clients()[0]
	flushed := false
	return LockFunc(func(ctx context.Context, key string) (*Lease, error) {
		if !flushed {
			flushed = true
			first.FlushAll(ctx)
			p := first.TxPipeline()
			p.FlushDB(ctx)
			_, _ = p.Exec(ctx)
		}
		return inner.Acquire(ctx, key)
	}), err
}

// TestWhatNoLockSendsIsRefusedAndCounted: the lock is not convicted for it, and the notes say what was refused. With Admin it is
// executed.
func TestWhatNoLockSendsIsRefusedAndCounted(t *testing.T) {
	for name, options := range map[string][]Option{"refused": nil, "allowed": {Admin()}} {
		t.Run(name, func(t *testing.T) {
			c := prepare(t, "Explore", nil, flushes, append(options, Masters(1), Faults()))
			c.base.TimeLimit = 20 * time.Second
			h, err := (&runner{t: t}).run(t.Context(), c.base)
			if err != nil {
				t.Fatal(err)
			}
			refused := map[string]int{}
			for _, op := range h.Ops {
				if op.F == history.FRefused {
					refused[op.Value.Command]++
				}
			}
			r, err := judge.History(h)
			if err != nil {
				t.Fatal(err)
			}
			if options != nil {
				if len(refused) > 0 {
					t.Errorf("refused: %v", refused)
				}
				return
			}
			if v, _ := r.FirstViolation(nil); v != nil || refused["FLUSHALL"] != c.base.Clients || refused["FLUSHDB"] != c.base.Clients || len(refused) != 2 {
				t.Errorf("violated: %v; refused: %v", v, refused)
			}
			if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "masters refused FLUSHDB on a link of c1 once, on m1") {
				t.Errorf("notes: %s", notes)
			}
		})
	}
}

// TestLinksAreObservedFirst: a lock that connects when it is made is seen by the links, as one that connects later.
func TestLinksAreObservedFirst(t *testing.T) {
	observed := false
	kind := Kind("eager", "", func(Env) (Lock, error) {
		if !observed {
			t.Error("the lock is made while nobody observes its links")
		}
		return LockFunc(nil), nil
	})
	lock, err := kind.New(workload.Env{Observe: func(func(history.Op, time.Time)) { observed = true }})
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAPanicOfTheLockIsTold: no property that a test asks for by default shows it, and the schedule proves nothing else.
func TestAPanicOfTheLockIsTold(t *testing.T) {
	_, err := enact(t, func(Env) (Lock, error) {
		return LockFunc(func(context.Context, string) (*Lease, error) { panic("boom") }), nil
	}, nil)
	if err == nil || !strings.Contains(err.Error(), "panicked in acquire at 0s: boom\n") || !strings.Contains(err.Error(), "refused_test.go") {
		t.Errorf("no error tells of the panic, and where it was: %v", err)
	}
}
