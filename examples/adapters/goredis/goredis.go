// Package goredis adapts the locks of libraries that use go-redis. Its test audits them.
package goredis

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"lockpick/locktest"
)

// between is the time between two tries of a lock whose library does not wait by itself.
const between = 20 * time.Millisecond

// Redsync adapts redsync, on all masters.
func Redsync(env locktest.Env) (locktest.Lock, error) {
	var pools []redis.Pool
	for _, c := range env.Clients() {
		pools = append(pools, goredis.NewPool(c))
	}
	rs := redsync.New(pools...)
	return locktest.LockFunc(func(ctx context.Context, key string) (*locktest.Lease, error) {
		m := rs.NewMutex(key, redsync.WithExpiry(env.TTL))
		if err := m.LockContext(ctx); err != nil {
			return nil, err
		}
		return &locktest.Lease{
			Token: m.Value(), Until: m.Until(),
			Release: func(ctx context.Context) error { _, err := m.UnlockContext(ctx); return err },
			Extend: func(ctx context.Context) (time.Time, error) {
				ctx, cancel := context.WithDeadline(ctx, m.Until()) // it would wait longer than the lease lasts
				defer cancel()
				_, err := m.ExtendContext(ctx)
				return m.Until(), err
			},
		}, nil
	}), nil
}

// Redislock adapts bsm/redislock, on the first master. Its lease begins when the command is sent.
func Redislock(env locktest.Env) (locktest.Lock, error) {
	locker := redislock.New(env.Clients()[0])
	return locktest.LockFunc(func(ctx context.Context, key string) (*locktest.Lease, error) {
		return Retry(ctx, env.TTL, func(until time.Time) (*locktest.Lease, error) {
			l, err := locker.Obtain(ctx, key, env.TTL, nil)
			if err != nil {
				return nil, err
			}
			return &locktest.Lease{
				Token: l.Token(), Until: until, Release: l.Release,
				Extend: func(ctx context.Context) (time.Time, error) {
					ctx, cancel := context.WithDeadline(ctx, until) // Refresh would wait longer than the lease lasts
					defer cancel()
					extended := validUntil(env.TTL)
					err := l.Refresh(ctx, env.TTL, nil)
					if err == nil {
						until = extended
					}
					return until, err
				},
			}, nil
		})
	}), nil
}

// validUntil returns the end of a lease whose command is sent now, with a margin for drifting clocks.
func validUntil(ttl time.Duration) time.Time { return time.Now().Add(ttl - ttl/50) }

// Retry calls try until it returns a lease that is still valid. If the reply arrived after the end of the lease, Retry releases it.
func Retry(ctx context.Context, ttl time.Duration, try func(until time.Time) (*locktest.Lease, error)) (*locktest.Lease, error) {
	for ctx.Err() == nil {
		lease, err := try(validUntil(ttl))
		if err == nil && time.Now().Before(lease.Until) {
			return lease, nil
		}
		if err == nil {
			_ = lease.Release(ctx) // its key expires anyway
		}
		time.Sleep(between)
	}
	return nil, ctx.Err()
}
