package workload

import (
	"context"
	"errors"
	"sync"

	"lockpick/history"
	"lockpick/redlock"
)

// The bugs in this file are those of a lock object that keeps data from one use to the next.

// named returns the token with which the lease is extended and released: its own, or the one that the lock
// object used last for the key.
func (x *textbookLease) named() string {
	l := x.lock
	if !l.mutations.field {
		return x.token
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tokens[x.key]
}

// offer keeps a lease whose release was cancelled for the next acquire of its key. It ends any other lease.
func (x *textbookLease) offer(ctx context.Context) (kept bool) {
	if kept = ctx.Err() != nil && x.valid(); !kept {
		x.finish(redlock.ErrReleased)
		return false
	}
	x.lock.mu.Lock()
	defer x.lock.mu.Unlock()
	x.lock.reusable[x.key] = x
	return true
}

// reuse returns the lease that was kept for a key, if its validity is not over, or nil.
func (l *textbook) reuse(key string) *textbookLease {
	l.mu.Lock()
	x := l.reusable[key]
	delete(l.reusable, key)
	l.mu.Unlock()
	if x == nil || !x.valid() {
		return nil
	}
	return x
}

// processID returns a value that is the same in all lock objects of a process.
func processID(l *textbook) string { return "pid-" + l.env.Process }

// objectID returns a value that is the same in all acquires through a lock object.
func objectID(l *textbook) string { return "lock-" + l.env.Client }

// latest remembers an acquire as the latest one of its key, and returns its number.
func (l *textbook) latest(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters[key]++
	return l.waiters[key]
}

// overwritten reports whether a later acquire of the key has taken the place of one.
func (l *textbook) overwritten(key string, number int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiters[key] != number
}

var errGranted = errors.New("the attempts have ended")

// acquireApart makes the attempts beside its caller, who stops waiting when ctx ends. The attempts then go on.
func (l *textbook) acquireApart(ctx context.Context, key string, try attempt) (Lease, error) {
	waiting, stop := l.env.Runtime.WithCancelCause(ctx)
	var mu sync.Mutex
	var lease Lease
	var err error
	l.env.Runtime.Go(func() {
		x, failure := l.acquire(l.life, key, try)
		mu.Lock()
		lease, err = x, failure
		mu.Unlock()
		stop(errGranted)
	})
	_ = l.env.Runtime.Sleep(waiting, history.Endless)
	if context.Cause(waiting) != errGranted {
		return nil, context.Cause(ctx)
	}
	mu.Lock()
	defer mu.Unlock()
	return lease, err
}

// acquireAlone locks the local mutex of the key, so that only one acquire of the lock object makes attempts. The end
// of the lease unlocks it.
func (l *textbook) acquireAlone(ctx context.Context, key string, try attempt) (Lease, error) {
	for !l.lockLocal(key) {
		if err := l.env.Runtime.Sleep(ctx, delayMin); err != nil {
			return nil, err
		}
	}
	return l.acquire(ctx, key, try)
}

// lockLocal locks the local mutex of a key, and reports whether it was unlocked.
func (l *textbook) lockLocal(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.locked[key]
	l.locked[key] = true
	return !was
}

// unlockLocal unlocks the local mutex of a key.
func (l *textbook) unlockLocal(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.locked, key)
}
