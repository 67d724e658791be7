package redlock

import (
	"context"
	"errors"
)

// Do runs f under the lock on key, for ten times the TTL at most (100 s by default; see
// WithMaxHold), so that a hung f cannot keep the lock for ever. It acquires the lock as
// Lock does, extends it whenever half of its validity has passed, and releases it when f
// returns or panics. f that takes longer is told by its context, whose cause then wraps
// ErrExtensionLimit, and so does Do's error.
//
// f's context ends when ctx does, or when the lease is over; f should then stop at
// once: somebody else may hold the lock. context.Cause tells why: an error that
// wraps ErrExpired or ErrLost, or ctx's own cause. Do returns Lock's error, or the
// error of f, joined with the cause if the lease ended before f did, or else with
// Unlock's error.
func (c *Client) Do(ctx context.Context, key string, f func(ctx context.Context) error, opts ...Option) (err error) {
	lease, err := c.lock(ctx, ctx, key, opts)
	if err != nil {
		return err
	}
	runtime := lease.hold.settings.runtime
	working, done := runtime.WithCancelCause(lease.Context())
	runtime.Go(func() { keep(working, lease) })
	defer func() { // also when f panics
		over := lease.hold.ended()
		done(ErrReleased)
		unlock := lease.Unlock(context.WithoutCancel(ctx))
		if over != nil {
			unlock = over // says more: the lease ended before f did
		}
		if unlock != nil && !errors.Is(err, unlock) { // unless f returned it itself
			err = errors.Join(err, unlock)
		}
	}()
	return f(working)
}

// keep extends a lease until ctx ends or the lease may not be extended any more.
func keep(ctx context.Context, lease *Lease) {
	s := lease.hold.settings
	// As the end comes near, halves become ever smaller, and masters that cannot
	// be reached would be asked ever faster.
	pause := (s.ttl - s.drift()) / 20
	for {
		half := lease.Until().Sub(s.runtime.Now()) / 2
		if s.runtime.Sleep(ctx, max(half, pause)) != nil {
			return
		}
		longer, err := lease.Extend(ctx)
		switch {
		case err == nil:
			lease = longer
		case !errors.Is(err, ErrNoQuorum): // too few answered: the next try, at half of what is left, may do better
			return
		}
	}
}
