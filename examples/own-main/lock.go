package main

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

// release deletes the key if it still has the token.
var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// newLock is a lock on the first master: its owner forgot the others.
func newLock(env locktest.Env) (locktest.Lock, error) {
	master := env.Clients()[0]
	return locktest.LockFunc(func(ctx context.Context, key string) (*locktest.Lease, error) {
		for token := rand.Text(); ctx.Err() == nil; {
			began := time.Now()
			if ok, err := master.SetNX(ctx, key, token, env.TTL).Result(); ok && err == nil {
				return &locktest.Lease{
					Token: token, Until: began.Add(env.TTL - env.TTL/50),
					Release: func(ctx context.Context) error { return release.Run(ctx, master, []string{key}, token).Err() },
				}, nil
			}
			time.Sleep(20 * time.Millisecond)
		}
		return nil, ctx.Err()
	}), nil
}
