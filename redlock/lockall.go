package redlock

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Leases are locks on several keys that were acquired together.
type Leases []*Lease

// LockAll acquires the locks on all keys, or none. It locks them in sorted order, so that
// two callers of LockAll never wait for each other, and holds the first for half of its
// validity at most while it waits for the others: then it releases all and begins again.
// It tries until ctx ends. Its errors are those of Lock.
func (c *Client) LockAll(ctx context.Context, keys []string, opts ...Option) (Leases, error) {
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

var errWaitedTooLong = errors.New("the first of the locks was held too long while the others were waited for")

func (c *Client) lockAll(ctx context.Context, keys []string, opts []Option) (all Leases, err error) {
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

// Unlock releases all, in reverse order. It returns the errors of those that failed.
func (l Leases) Unlock(ctx context.Context) (err error) {
	for _, lease := range slices.Backward(l) {
		err = errors.Join(err, lease.Unlock(ctx))
	}
	return err
}

// Extend prolongs all. If one fails the others may be prolonged: Unlock them, or try
// again.
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

// Until is when the first of them ends.
func (l Leases) Until() time.Time {
	return slices.MinFunc(l, func(a, b *Lease) int { return a.Until().Compare(b.Until()) }).Until()
}
