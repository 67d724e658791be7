package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

// A lock by WATCH, GET, MULTI, SET and EXEC on the one connection of its process, which also gives a sign of life by a
// transaction of its own. The bug: each command has the connection for itself, but not all commands of an attempt, so that
// the EXEC of the sign of life ends the WATCH of the attempt.
func sharedWatch(bug bool) maker {
	return func(env locktest.Env) (locktest.Lock, error) {
		m := env.Clients()[0]
		conn := m.Conn()
		// A mutex that is held during an exchange would keep the time of a run in memory from passing.
		attempts, commands := make(chan struct{}, 1), make(chan struct{}, 1)
		alone := func(turn chan struct{}, f func() error) error {
			turn <- struct{}{}
			defer func() { <-turn }()
			return f()
		}
		each := func(f func() error) error {
			return alone(commands, func() error {
				err := f()
				if answered := redis.Error(nil); err != nil && !errors.As(err, &answered) { // the connection is not used again
					_ = conn.Close()
					conn = m.Conn()
				}
				return err
			})
		}
		whole := func(f func() error) error {
			if bug {
				return f()
			}
			return alone(attempts, f)
		}
		transaction := func(ctx context.Context, key, value string) error {
			return each(func() error {
				_, err := conn.TxPipelined(ctx, func(p redis.Pipeliner) error {
					return p.Set(ctx, key, value, env.TTL).Err()
				})
				return err
			})
		}
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					_ = whole(func() error { return transaction(context.Background(), "alive:"+env.Client, "1") })
				}
			}
		}()
		acquire := func(ctx context.Context, key string) (*locktest.Lease, error) {
			tok := token()
			var began time.Time
			err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
				began = time.Now()
				err := whole(func() error {
					if err := each(func() error { return conn.Process(ctx, redis.NewStatusCmd(ctx, "watch", key)) }); err != nil {
						return err
					}
					err := each(func() error { return conn.Get(ctx, key).Err() })
					if err == nil {
						return errors.Join(errTaken, each(func() error { return conn.Process(ctx, redis.NewStatusCmd(ctx, "unwatch")) }))
					}
					if !errors.Is(err, redis.Nil) {
						return err
					}
					time.Sleep(2 * time.Millisecond) // the process has other work, too
					return transaction(ctx, key, tok)
				})
				return err == nil, err
			})
			if err != nil {
				unlock.Run(context.Background(), m, []string{key}, tok)
				return nil, err
			}
			return &locktest.Lease{Token: tok, Until: began.Add(env.TTL - env.TTL/50), Release: releases(m, key, tok)}, nil
		}
		return closing{locktest.LockFunc(acquire), stop}, nil
	}
}
