package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

// A client that waits patiently while the lock is taken. The bug: if the master answers with an error (READONLY after a
// failover, OOM, LOADING), it asks again at once, for as long as it may wait.
func errorSpin(bug bool) maker {
	return func(env locktest.Env) (locktest.Lock, error) {
		m := env.Clients()[0]
		return locktest.LockFunc(func(ctx context.Context, key string) (*locktest.Lease, error) {
			tok := token()
			for ctx.Err() == nil {
				began := time.Now()
				ok, err := m.SetNX(ctx, key, tok, env.TTL).Result()
				if ok {
					return &locktest.Lease{Token: tok, Until: began.Add(env.TTL - env.TTL/50), Release: releases(m, key, tok)}, nil
				}
				if answered := redis.Error(nil); !bug || !errors.As(err, &answered) {
					time.Sleep(50 * time.Millisecond)
				}
			}
			unlock.Run(context.Background(), m, []string{key}, tok)
			return nil, errTaken
		}), nil
	}
}
