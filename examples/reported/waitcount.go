package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

// A re-entrant lock with a count, which asks for a replica (WAIT) after each acquisition and renews the lock until it is
// released. The bug: if no replica has it the attempt fails, but its count stays; the next attempt counts two, one
// release leaves one, and the renewal goes on.
var (
	renewHash = redis.NewScript(`if redis.call("hexists", KEYS[1], ARGV[1]) == 1 then return redis.call("pexpire", KEYS[1], ARGV[2]) end
return 0`)
	// countHash sets how often the holder holds.
	countHash = redis.NewScript(`if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
if ARGV[2] == "0" then return redis.call("del", KEYS[1]) end
redis.call("hset", KEYS[1], ARGV[1], ARGV[2])
return 1`)
)

func waitCount(bug bool) maker {
	return func(env locktest.Env) (locktest.Lock, error) {
		m, me := env.Clients()[0], token()
		stop := make(chan struct{})
		holds := map[string]int{} // by key, used by the client's calls alone
		// undo gives an attempt back whose outcome is not known, too.
		undo := func(ctx context.Context, key string) error {
			return countHash.Run(context.WithoutCancel(ctx), m, []string{key}, me, holds[key]).Err()
		}
		acquire := func(ctx context.Context, key string) (*locktest.Lease, error) {
			var began time.Time
			err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
				began = time.Now()
				n, err := reLock.Run(ctx, m, []string{key}, me, ms(env.TTL)).Int()
				if err == nil && n == 0 {
					return false, nil
				}
				if err == nil {
					err = replicated(ctx, m, env.TTL/20)
				}
				if err != nil && !bug {
					err = errors.Join(err, undo(ctx, key))
				}
				return err == nil, err
			})
			if err != nil {
				return nil, err
			}
			holds[key]++
			lost, end := keepAlive(stop, began, env.TTL, func(ctx context.Context) (bool, error) {
				n, err := renewHash.Run(ctx, m, []string{key}, me, ms(env.TTL)).Int()
				return n == 1, err
			})
			released := false
			return &locktest.Lease{Lost: lost, Release: func(ctx context.Context) error {
				if released {
					return errReleased
				}
				released = true
				holds[key]--
				if !bug {
					end()
					return undo(ctx, key)
				}
				err := reUnlock.Run(ctx, m, []string{key}, me).Err()
				if m.Exists(ctx, key).Val() == 0 {
					end()
				}
				return err
			}}, nil
		}
		return closing{locktest.LockFunc(acquire), stop}, nil
	}
}

// replicated asks whether a replica has what was written, if there are replicas.
func replicated(ctx context.Context, m *redis.Client, within time.Duration) error {
	if info, err := m.Info(ctx, "replication").Result(); err == nil && strings.Contains(info, "connected_slaves:0") {
		return nil
	}
	n, err := m.Wait(ctx, 1, within).Result()
	if err == nil && n == 0 {
		err = errors.New("no replica has the lock")
	}
	return err
}
