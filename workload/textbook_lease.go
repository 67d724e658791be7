package workload

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// textbookLease is a lease that changes when it is extended.
type textbookLease struct {
	lock     *textbook
	talk     protocol.Conversation
	key      string
	token    string
	share    Share
	fence    int64
	believed []int // the masters that voted yes
	ctx      context.Context
	cancel   context.CancelCauseFunc

	mu         sync.Mutex // never held while waiting
	until      time.Time  // the end of the validity on the clock that the lock uses
	extensions int
	failures   int   // how many extensions have failed since the latest that did not
	over       error // the reason why the lease is over; nil while it is not
}

// maxExtensions limits how often one lease may be extended: without a limit a holder that hangs
// would keep the lock forever (distlock, "Extending the lock").
const maxExtensions = 10

func (l *textbook) grant(talk protocol.Conversation, key, token string, share Share, t tally, left time.Duration) *textbookLease {
	x := &textbookLease{lock: l, talk: talk, key: key, token: token, share: share, believed: t.yes, until: l.clock().Add(left)}
	l.mu.Lock()
	l.tokens[key] = token
	l.mu.Unlock()
	if l.env.Fencing {
		x.fence = t.highest
	}
	x.ctx, x.cancel = l.env.Runtime.WithCancelCause(context.Background())
	x.watch(left)
	if l.mutations.renews || l.mutations.renewsForever {
		l.env.Runtime.Go(x.renew)
	}
	return x
}

func (x *textbookLease) Token() string { return x.token }
func (x *textbookLease) Fence() int64  { return x.fence }

// Context returns a context that ends when the lease is known to be over. A lease that was over
// and was extended nevertheless has a new context.
func (x *textbookLease) Context() context.Context {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ctx
}

// Until returns the end of the validity on the client's monotonic clock, as currently known.
func (x *textbookLease) Until() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.lock.mutations.wallClock {
		return x.until
	}
	return x.lock.env.Runtime.Now().Add(x.until.Sub(x.lock.clock()))
}

// watch ends the lease when its validity ends.
func (x *textbookLease) watch(left time.Duration) {
	if x.lock.mutations.tellsLate {
		return
	}
	x.lock.env.Runtime.AfterFunc(left, func() {
		x.mu.Lock()
		over, left := x.over != nil, x.until.Sub(x.lock.clock())
		x.mu.Unlock()
		switch {
		case over:
		case left > 0: // the lease was extended meanwhile
			x.watch(left)
		default:
			x.finish(redlock.ErrExpired)
		}
	})
}

// finish ends the lease with a reason, once. The release ends its context even if the holder
// was not notified before that the lease was over.
func (x *textbookLease) finish(why error) {
	x.mu.Lock()
	first, cancel := x.over == nil, x.cancel
	if first {
		x.over = why
	}
	x.mu.Unlock()
	if first && x.lock.mutations.locksLocal {
		x.lock.unlockLocal(x.key)
	}
	if why == redlock.ErrReleased || first && !x.lock.mutations.untold && !x.lock.mutations.alwaysValid {
		cancel(why)
		if x.lock.env.Ended != nil {
			x.lock.env.Ended(x.key, x.token, why)
		}
	}
}

func (x *textbookLease) valid() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.over == nil && x.lock.clock().Before(x.until)
}

// Extend prolongs the lease to a full TTL from now. It succeeds only if a quorum of masters
// still stored the token and prolonged it before the validity ended (distlock, "Extending the
// lock").
func (x *textbookLease) Extend(ctx context.Context) (Lease, error) {
	if err := x.extend(ctx); err != nil {
		return nil, err
	}
	return x.shown(), nil
}

func (x *textbookLease) extend(ctx context.Context) error {
	l := x.lock
	start := l.clock()
	if err := x.mayExtend(start); err != nil {
		return err
	}
	if l.mutations.extendAcquires {
		return x.acquireAgain(ctx, start)
	}
	token := x.named()
	t, err := l.carryOut(ctx, x.talk, x.key, token, l.extendCommands(x.key, token, x.share), nil, l.settled)
	if err != nil {
		return err
	}
	return x.extended(t, start.Add(l.validity()))
}

// maxFailures is the number of renewals that fail in a row after which a patient watchdog gives up.
const maxFailures = 5

// mayExtend counts an extension, or returns the reason why the lease cannot be extended.
func (x *textbookLease) mayExtend(now time.Time) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	late := x.lock.mutations.extendLate
	switch {
	case x.over == redlock.ErrReleased && x.lock.mutations.extendReleased:
	case x.over != nil && !(late && x.over == redlock.ErrExpired):
		return fmt.Errorf("%w: %w", redlock.ErrNotHeld, x.over)
	case !now.Before(x.until) && !late:
		return redlock.ErrExpired
	case x.lock.mutations.forever: // there is no TTL to extend
		return redlock.ErrExtensionLimit
	case x.extensions >= maxExtensions && !x.lock.mutations.renewsForever:
		return redlock.ErrExtensionLimit
	}
	x.extensions++
	return nil
}

// extended decides the result of an extension from its votes.
func (x *textbookLease) extended(t tally, until time.Time) error {
	l := x.lock
	now := l.clock()
	x.mu.Lock()
	late := !now.Before(x.until) && !l.mutations.extendLate
	won := len(t.yes) >= l.quorum(t) && !late
	if x.failures++; won {
		x.failures = 0
	}
	won = won || l.mutations.extendLies || l.mutations.patient && x.failures < maxFailures
	if won && until.After(x.until) {
		x.until = until
		if x.over == redlock.ErrExpired { // the lease becomes valid again
			x.over = nil
			x.ctx, x.cancel = l.env.Runtime.WithCancelCause(context.Background())
			x.watch(until.Sub(now))
		}
	}
	x.mu.Unlock()
	switch {
	case won:
		return nil
	case late:
		x.finish(redlock.ErrExpired)
		return redlock.ErrExpired
	case len(t.no) > l.n-l.quorum(t):
		x.finish(redlock.ErrLost)
		return redlock.ErrLost
	}
	return redlock.ErrNoQuorum
}

// acquireAgain extends a lease by an attempt to acquire with the same token.
func (x *textbookLease) acquireAgain(ctx context.Context, start time.Time) error {
	again, err := x.lock.attempt(ctx, x.lock.masters.Begin(x.lock.env.Hooks.Vote), x.key, x.token, x.token, x.share, start)
	if err != nil {
		return err
	}
	again.finish(redlock.ErrReleased) // the extended lease replaces it
	x.mu.Lock()
	defer x.mu.Unlock()
	x.talk, x.until = again.talk, again.until
	return nil
}

// renew extends the lease in the background until it is over or has reached the limit.
func (x *textbookLease) renew() {
	l := x.lock
	pause := l.env.TTL / 3
	for x.valid() && l.env.Runtime.Sleep(x.Context(), pause) == nil && l.life.Err() == nil {
		err := x.extend(l.life)
		if err == nil && l.env.Renewed != nil && l.life.Err() == nil {
			l.env.Renewed(x.key, x) // if the renewal failed, the next one may succeed
		}
		if l.mutations.tellsLate && err != nil {
			pause = l.env.TTL
		}
	}
	if l.mutations.tellsLate && l.life.Err() == nil {
		x.finish(redlock.ErrExpired)
	}
	if l.mutations.outlives {
		x.staleRenew()
	}
}

// staleRenew continues to renew after the release, as long as masters reply that they store the
// token.
func (x *textbookLease) staleRenew() {
	l := x.lock
	for l.env.Runtime.Sleep(l.life, l.env.TTL/3) == nil {
		t, _ := l.carryOut(l.life, x.talk, x.key, x.token, l.extendCommands(x.key, x.token, x.share), nil, l.settled)
		if len(t.yes) == 0 {
			return
		}
	}
}

// vouching is a lease with a method that reports whether it is valid.
type vouching struct{ *textbookLease }

// Valid returns true until the lease is released, or until a watchdog that is late has noticed its end.
func (x vouching) Valid() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lock.mutations.tellsLate {
		return x.over == nil
	}
	return x.over != redlock.ErrReleased
}

// shown returns the lease in the form that its holder gets.
func (x *textbookLease) shown() Lease {
	if x.lock.mutations.alwaysValid || x.lock.mutations.untold || x.lock.mutations.tellsLate {
		return vouching{x}
	}
	return x
}

// Release releases the lock on all masters (distlock, "Releasing the lock").
func (x *textbookLease) Release(ctx context.Context) error {
	l := x.lock
	over := !x.valid()
	if !l.mutations.reuses {
		x.finish(redlock.ErrReleased)
	}
	t, err := l.releaseAll(ctx, x.talk, x.key, x.named(), x.share, x.believed, l.settled)
	if l.mutations.reuses && x.offer(ctx) {
		return context.Cause(ctx)
	}
	switch {
	case err != nil:
		return err
	case l.mutations.unconfirmed:
		return nil
	case l.mutations.onlyWhileWanted && ctx.Err() != nil:
		return context.Cause(ctx)
	case len(t.yes) >= l.n/2+1:
		return nil
	case len(t.no) > l.n-(l.n/2+1) && over:
		return fmt.Errorf("%w: %w", redlock.ErrNotHeld, redlock.ErrExpired)
	case len(t.no) > l.n-(l.n/2+1):
		return redlock.ErrNotHeld
	}
	return redlock.ErrNoQuorum
}
