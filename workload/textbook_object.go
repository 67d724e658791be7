package workload

import (
	"context"

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
