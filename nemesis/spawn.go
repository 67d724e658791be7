package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"lockpick/cluster"
)

var errIdle = errors.New("nothing is running")

// spawn runs f concurrently with its caller; settle waits for it.
func (n *Nemesis) spawn(f func()) {
	n.mu.Lock()
	n.running++
	n.mu.Unlock()
	n.env.Runtime.Go(func() {
		defer func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.running--; n.running == 0 && n.idle != nil {
				n.idle(errIdle)
			}
		}()
		f()
	})
}

// fork returns a random source for one injection, whose draws do not depend on concurrent injections.
func (n *Nemesis) fork() *rand.Rand { return rand.New(rand.NewPCG(n.random.Uint64(), 1)) }

// settle waits until all spawned functions have ended, so that no fault is active.
func (n *Nemesis) settle() {
	n.mu.Lock()
	if n.running == 0 {
		n.mu.Unlock()
		return
	}
	var idle context.Context
	idle, n.idle = n.env.Runtime.WithCancelCause(context.Background())
	n.mu.Unlock()
	for n.env.Runtime.Sleep(idle, time.Hour) == nil {
	}
}

// each runs f for all masters at the same time and joins their errors. The error is a halfDone if f failed
// for some of them only.
func (n *Nemesis) each(masters []cluster.Master, f func(m cluster.Master) error) error {
	if len(masters) == 0 {
		return nil
	}
	done, end := n.env.Runtime.WithCancelCause(context.Background())
	var mu sync.Mutex
	errs := make([]error, len(masters)) // in the order of masters
	left := len(masters)
	for i, m := range masters {
		n.env.Runtime.Go(func() {
			err := f(m)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", m.Name(), err)
			}
			if left--; left == 0 {
				end(errIdle)
			}
		})
	}
	for n.env.Runtime.Sleep(done, time.Hour) == nil {
	}
	mu.Lock()
	defer mu.Unlock()
	return joined(errs)
}

// joined joins the errors of several tries. The error is a halfDone if at least one try succeeded.
func joined(errs []error) error {
	err := errors.Join(errs...)
	if err != nil && slices.Contains(errs, nil) {
		return halfDone{err}
	}
	return err
}

// within returns a context that ends after d of the run's time.
func (n *Nemesis) within(ctx context.Context, d time.Duration) (context.Context, func()) {
	at := n.env.Runtime.Now().Add(d)
	ctx, end := n.env.Runtime.WithCancelCause(ctx)
	stop := n.env.Runtime.AfterFunc(d, func() { end(context.DeadlineExceeded) })
	return deadline{ctx, at}, func() {
		stop()
		end(nil)
	}
}

// deadline is a context with a deadline, which sockets need in advance.
type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }
