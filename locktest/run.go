package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"lockpick/campaign/bubble"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/workload"
)

// makers holds the constructors of the tests' locks, by the name that scenarios use.
var makers sync.Map

// register registers the lock of a test under the name that scenarios use.
func register(c *config, make func(Env) (Lock, error)) error {
	name := c.base.Lock
	_, known := makers.Swap(name, make)
	if known {
		return nil // the test runs again
	}
	kind := Kind(name, "the lock of a test", func(e Env) (Lock, error) {
		f, _ := makers.Load(name)
		return f.(func(Env) (Lock, error))(e)
	})
	kind.Kind, kind.Fencing, kind.Retry = c.base.Kind, c.fencing, c.retry
	return workload.RegisterLock(kind)
}

// runner runs scenarios, each in its own bubble or on real masters.
type runner struct {
	t      *testing.T
	real   bool // on redis-server processes, in real time
	leaked atomic.Int64
}

func (r *runner) run(ctx context.Context, s scenario.Scenario) (*history.History, error) {
	if r.real {
		h, err := onProcesses(ctx, s)
		return h, errors.Join(err, panicked(h))
	}
	h, err := bubble.Enact(context.Background(), r.t, s)
	if errors.Is(err, bubble.ErrLeaked) {
		r.leaked.Add(1)
		err = nil
	}
	return h, errors.Join(err, panicked(h))
}

// panicked returns an error if the lock has panicked: that is certain, and hardly any property shows it.
func panicked(h *history.History) error {
	if h == nil {
		return nil
	}
	i := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.F == history.FPanicked })
	if i < 0 {
		return nil
	}
	op := &h.Ops[i]
	return fmt.Errorf("the lock of client %s panicked in %s at %v: %s\n%s", op.Process, op.Value.Command, op.Time, op.Error, op.Value.Evidence)
}
