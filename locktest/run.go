package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/bubble"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/workload"
)

// makers holds a maker for each test, by the name that scenarios use.
var makers sync.Map

// maker is the constructor of a test's lock, and what the test says of the lock.
type maker struct {
	make func(Env) (Lock, error)
	kind history.LockKind
	claims
}

// register registers the lock of a test under the name that scenarios use.
func register(c *config, make func(Env) (Lock, error)) error {
	name := c.base.Lock
	before, known := makers.Swap(name, maker{make, c.base.Kind, c.claims})
	if known { // the test runs again
		if m := before.(maker); m.kind != c.base.Kind || m.claims != c.claims {
			return errors.New("the options of this test said something else of its lock before: test a lock with other options in a test of its own (t.Run)")
		}
		return nil
	}
	kind := Kind(name, "the lock of a test", func(e Env) (Lock, error) {
		m, _ := makers.Load(name)
		return m.(maker).make(e)
	})
	kind.Kind, kind.Fencing, kind.Retry, kind.Fair, kind.DeadWaiter = c.base.Kind, c.fencing, c.retry, c.fair, c.deadWaiter
	if c.majority {
		kind.Masters = workload.AllMasters
	}
	return workload.RegisterLock(kind)
}

// runner runs scenarios, each in its own bubble or on real masters.
type runner struct {
	t      *testing.T
	real   bool // on redis-server processes, in real time
	leaked atomic.Int64
}

func (r *runner) run(ctx context.Context, s scenario.Scenario) (*history.History, error) {
	on := bubble.In(r.t)
	if r.real {
		on, s.Driver = processes, processes.Name
	} else {
		ctx = context.Background()
	}
	h, err := campaign.Record(ctx, s, on, campaign.Options{})
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
