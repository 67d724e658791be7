package redlock

import (
	"context"
	"errors"
)

// Do runs f while it holds the lock on key, for at most ten times the TTL (100 s by
// default; see WithMaxHold), so that an f that hangs cannot keep the lock forever. It
// acquires the lock like Lock, extends it whenever half of its validity has passed, and
// releases it when f returns or panics.
//
// The context of f ends when ctx does, or when the lease is over. f must then stop at once,
// because another client may hold the lock. context.Cause returns the reason: an error
// that wraps ErrExpired, ErrLost or ErrExtensionLimit, or the cause of ctx.
//
// If Do cannot acquire the lock, it returns the error of Lock and does not call f.
// Otherwise it returns the error of f, joined (errors.Join) with the reason why the lease
// ended if it ended before f returned, or else with the error of Unlock.
func (c *Client) Do(ctx context.Context, key string, f func(ctx context.Context) error, opts ...CallOption) (err error) {
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
			unlock = over // the better reason: the lease ended before f returned
		}
		if unlock != nil && !errors.Is(err, unlock) { // unless f returned it itself
			err = errors.Join(err, unlock)
		}
	}()
	return f(working)
}

// keep extends a lease until ctx ends or the lease cannot be extended any more.
func keep(ctx context.Context, lease *Lease) {
	s := lease.hold.settings
	// If extensions fail, half of the remaining validity becomes ever shorter. The least
	// pause bounds the rate of commands.
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
		case !errors.Is(err, ErrNoQuorum): // with ErrNoQuorum, the next attempt may succeed
			return
		}
	}
}
