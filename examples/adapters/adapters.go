// Package adapters shows that a few lines adapt the locks of other libraries to locktest.
package adapters

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	zero "github.com/zeromicro/go-zero/core/stores/redis"

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
			Extend:  func(ctx context.Context) (time.Time, error) { _, err := m.ExtendContext(ctx); return m.Until(), err },
		}, nil
	}), nil
}

// Redislock adapts bsm/redislock, on the first master. Its lease begins when the command is sent.
func Redislock(env locktest.Env) (locktest.Lock, error) {
	locker := redislock.New(env.Clients()[0])
	return locktest.LockFunc(func(ctx context.Context, key string) (*locktest.Lease, error) {
		for ctx.Err() == nil {
			began := time.Now()
			l, err := locker.Obtain(ctx, key, env.TTL, nil)
			if err == nil {
				return &locktest.Lease{
					Token: l.Token(), Until: began.Add(env.TTL - env.TTL/50), Release: l.Release,
					Extend: func(ctx context.Context) (time.Time, error) {
						began := time.Now()
						return began.Add(env.TTL - env.TTL/50), l.Refresh(ctx, env.TTL, nil)
					},
				}, nil
			}
			time.Sleep(between)
		}
		return nil, ctx.Err()
	}), nil
}

// Rueidislock adapts rueidislock, on the first master. It promises no end of a lease: it extends leases by
// itself, and ends their context when it has lost them.
func Rueidislock(env locktest.Env) (locktest.Lock, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		KeyValidity: env.TTL, KeyMajority: 1, ClientOption: rueidis.ClientOption{InitAddress: env.Addrs[:1]},
	})
	if err != nil {
		return nil, err
	}
	return rueidisLock{l}, nil
}

type rueidisLock struct{ locker rueidislock.Locker }

func (l rueidisLock) Acquire(ctx context.Context, key string) (*locktest.Lease, error) {
	waiting, giveUp := context.WithCancel(context.Background()) // the context of the lease ends with it
	stop := context.AfterFunc(ctx, giveUp)
	lost, cancel, err := l.locker.WithContext(waiting, key)
	if !stop() && err == nil {
		cancel()
		err = ctx.Err()
	}
	if err != nil {
		giveUp()
		return nil, err
	}
	return &locktest.Lease{Lost: lost, Release: func(context.Context) error { cancel(); return nil }}, nil
}

func (l rueidisLock) Close() error { l.locker.Close(); return nil }

var errNotHeld = errors.New("the lock is not held")

// GoZero adapts go-zero's RedisLock, on the first master. Its expiry is in whole seconds.
func GoZero(env locktest.Env) (locktest.Lock, error) {
	store, err := zero.NewRedis(zero.RedisConf{Host: env.Addrs[0], Type: zero.NodeType, NonBlock: true})
	if err != nil {
		return nil, err
	}
	return locktest.LockFunc(func(ctx context.Context, key string) (*locktest.Lease, error) {
		l := zero.NewRedisLock(store, key)
		l.SetExpire(int(env.TTL / time.Second))
		for ctx.Err() == nil {
			began := time.Now()
			if ok, err := l.AcquireCtx(ctx); ok && err == nil {
				return &locktest.Lease{Until: began.Add(env.TTL - env.TTL/50), Release: func(ctx context.Context) error {
					ok, err := l.ReleaseCtx(ctx)
					if err == nil && !ok {
						err = errNotHeld
					}
					return err
				}}, nil
			}
			time.Sleep(between)
		}
		return nil, ctx.Err()
	}), nil
}
