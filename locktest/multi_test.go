package locktest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

var giveBack = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
return 0`)

type several struct {
	master *redis.Client
	env    locktest.Env
}

func (s several) Acquire(ctx context.Context, key string) (*locktest.Lease, error) {
	return s.AcquireAll(ctx, []string{key})
}

// AcquireAll acquires the keys in the order of their names, and gives back what it has if one is refused.
func (s several) AcquireAll(ctx context.Context, keys []string) (*locktest.Lease, error) {
	slices.Sort(keys)
	for ctx.Err() == nil {
		token, began, taken := rand.Text(), time.Now(), 0
		release := func(ctx context.Context) (err error) {
			for _, key := range keys {
				err = errors.Join(err, giveBack.Run(ctx, s.master, []string{key}, token).Err())
			}
			return err
		}
		for taken < len(keys) && s.master.SetNX(ctx, keys[taken], token, s.env.TTL).Val() {
			taken++
		}
		if until := began.Add(s.env.TTL - s.env.TTL/50); taken == len(keys) && time.Now().Before(until) {
			return &locktest.Lease{Token: token, Until: until, Release: release}, nil
		}
		_ = release(context.WithoutCancel(ctx))
		time.Sleep(30 * time.Millisecond)
	}
	return nil, ctx.Err()
}

func TestMultiLock(t *testing.T) {
	locktest.Explore(t, func(env locktest.Env) (locktest.Lock, error) { return several{env.Clients()[0], env}, nil },
		locktest.Multi(), locktest.Masters(1), locktest.Clients(4), locktest.Faults("kill", "partition"), locktest.Schedules(100))
}
