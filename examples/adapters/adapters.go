// Package adapters shows that a few lines adapt the locks of other libraries to locktest.
package adapters

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	zero "github.com/zeromicro/go-zero/core/stores/redis"

	"lockpick/examples/adapters/goredis"
	"lockpick/locktest"
)

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
		return goredis.Retry(ctx, env.TTL, func(until time.Time) (*locktest.Lease, error) {
			held := func(ok bool, err error) error {
				if err == nil && !ok {
					err = errNotHeld
				}
				return err
			}
			if err := held(l.AcquireCtx(ctx)); err != nil {
				return nil, err
			}
			return &locktest.Lease{Until: until, Release: func(ctx context.Context) error { return held(l.ReleaseCtx(ctx)) }}, nil
		})
	}), nil
}
