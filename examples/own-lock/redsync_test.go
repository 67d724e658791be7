// Package ownlock shows how a repository of its own tests its lock with locktest.
package ownlock

import (
	"context"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"lockpick/locktest"
)

// redsyncLock is redsync over one go-redis client for each master.
func redsyncLock(env locktest.Env) (locktest.Lock, error) {
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

// TestRedsync holds: its masters remember what they have granted when they restart.
func TestRedsync(t *testing.T) {
	locktest.Explore(t, redsyncLock, locktest.Persistence("always"), locktest.Schedules(200))
}
