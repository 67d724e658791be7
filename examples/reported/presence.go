package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

// A lock without a key: who is alone on a channel has it for as long as its connection lives. The bug: the subscription
// connects again by itself when its connection ends, and its holder goes on to believe in the lock.
func presence(bug bool) maker {
	return func(env locktest.Env) (locktest.Lock, error) {
		m := env.Clients()[0]
		present := func(ctx context.Context, channel string) (int64, error) {
			n, err := m.PubSubNumSub(ctx, channel).Result()
			return n[channel], err
		}
		return locktest.LockFunc(func(ctx context.Context, key string) (*locktest.Lease, error) {
			channel := "lock:" + key
			var mine *redis.PubSub
			if err := poll(ctx, time.Duration(20+rand.IntN(40))*time.Millisecond, func() (bool, error) {
				if n, err := present(ctx, channel); err != nil || n > 0 {
					return false, err
				}
				s := m.Subscribe(ctx, channel)
				if _, err := s.Receive(ctx); err == nil {
					if n, err := present(ctx, channel); err == nil && n == 1 {
						mine = s
						return true, nil
					}
				}
				return false, s.Close()
			}); err != nil {
				return nil, err
			}
			lost, over := context.WithCancelCause(context.Background())
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				for lost.Err() == nil {
					if _, err := mine.Receive(context.Background()); err != nil && !bug {
						over(errors.New("the connection ended"))
					} else if err != nil {
						time.Sleep(20 * time.Millisecond)
					}
				}
			}()
			return &locktest.Lease{Lost: lost, Release: func(context.Context) error {
				was := context.Cause(lost)
				over(errReleased)
				err := mine.Close()
				<-gone
				if was != nil && !errors.Is(was, errReleased) {
					return was
				}
				return err
			}}, nil
		}), nil
	}
}

var errReleased = errors.New("released")
