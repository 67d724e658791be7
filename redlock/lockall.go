package redlock

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Leases are locks on several keys that were acquired together, in the order of the keys.
type Leases []*Lease

// LockAll acquires the locks on all keys, or none. It locks them in sorted order and each
// key once, so that two callers of LockAll cannot deadlock. While it waits for the other
// keys, it holds the first for at most half of its validity: then it releases all locks,
// waits for a retry delay (that of New), and starts again. It retries until ctx ends or Lock
// fails for another reason (ErrRetryLimit, ErrClosed).
//
// Its error is that of Lock, joined (errors.Join) with the errors of releasing the locks
// that were acquired. An empty list of keys is an error of another type.
func (c *Client) LockAll(ctx context.Context, keys []string, opts ...CallOption) (Leases, error) {
	if len(keys) == 0 {
		return nil, errors.New("redlock: LockAll needs at least one key")
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	for number := 1; ; number++ {
		all, err := c.lockAll(ctx, keys, opts)
		if err == nil || !errors.Is(err, errWaitedTooLong) || ctx.Err() != nil {
			return all, err
		}
		if r := c.settings.runtime; r.Sleep(ctx, c.settings.delay(number)) != nil {
			return nil, err
		}
	}
}

// errWaitedTooLong ends a round of LockAll that has used half of the first lease.
var errWaitedTooLong = errors.New("the first of the locks was held too long while the others were waited for")

// lockAll makes one round: it acquires all locks, or releases those that it acquired.
func (c *Client) lockAll(ctx context.Context, keys []string, opts []CallOption) (all Leases, err error) {
	r := c.settings.runtime
	waiting, end := r.WithCancelCause(ctx)
	defer end(nil)
	for i, key := range keys {
		lease, err := c.Lock(waiting, key, opts...)
		if err != nil {
			return nil, errors.Join(err, all.Unlock(context.WithoutCancel(ctx)))
		}
		if all = append(all, lease); i == 0 {
			stop := r.AfterFunc(lease.Remaining()/2, func() { end(errWaitedTooLong) })
			defer stop()
		}
	}
	return all, nil
}

// Unlock releases all locks, in reverse order, whether or not some of them fail. Its error
// joins (errors.Join) the errors of Lease.Unlock of those that failed.
func (l Leases) Unlock(ctx context.Context) (err error) {
	for _, lease := range slices.Backward(l) {
		err = errors.Join(err, lease.Unlock(ctx))
	}
	return err
}

// Extend prolongs all leases, one after the other. It returns the first error of
// Lease.Extend; earlier leases are then prolonged, and later ones are not. Unlock them all,
// or try again.
func (l Leases) Extend(ctx context.Context) (Leases, error) {
	var all Leases
	for _, lease := range l {
		longer, err := lease.Extend(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, longer)
	}
	return all, nil
}

// Until returns the earliest end of the leases' validity (Lease.Until), or the zero time if
// there are no leases.
func (l Leases) Until() time.Time {
	if len(l) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(l, func(a, b *Lease) int { return a.Until().Compare(b.Until()) }).Until()
}
