package main

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

var errTaken = errors.New("not granted in time")

// poll calls try until it says yes, an error that is not redis.Nil, or ctx ends. A failed try of an unknown
// outcome is undone by the caller.
func poll(ctx context.Context, every time.Duration, try func() (bool, error)) error {
	for ctx.Err() == nil {
		if ok, err := try(); ok {
			return nil
		} else if err != nil && !errors.Is(err, redis.Nil) && ctx.Err() != nil {
			return err
		}
		time.Sleep(every)
	}
	return errTaken
}

func token() string { return rand.Text() }

// unlock deletes the key if it has the token.
var unlock = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// take creates the key as soon as nobody has it, and returns when it sent the command that did. When ctx ends it
// deletes the key that a command without a reply may have created.
func take(ctx context.Context, m *redis.Client, key, tok string, ttl time.Duration) (sent time.Time, err error) {
	if err = poll(ctx, 20*time.Millisecond, func() (bool, error) {
		sent = time.Now()
		return m.SetNX(ctx, key, tok, ttl).Result()
	}); err != nil {
		unlock.Run(context.Background(), m, []string{key}, tok)
	}
	return sent, err
}

// releases returns a lease's function that deletes its key.
func releases(m *redis.Client, key, tok string) func(context.Context) error {
	return func(ctx context.Context) error { return unlock.Run(ctx, m, []string{key}, tok).Err() }
}

// prolong sets the TTL of a key that has the token.
var prolong = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)

// keepAlive renews a lease each third of a TTL, until end is called, stop is closed or the lease is lost.
func keepAlive(stop <-chan struct{}, began time.Time, ttl time.Duration, renew func(context.Context) (held bool, err error)) (lost context.Context, end func()) {
	lost, over := context.WithCancelCause(context.Background())
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		until, next := began.Add(ttl-ttl/50), began.Add(ttl/3)
		for {
			select {
			case <-stop:
				return
			case <-done:
				return
			case <-time.After(time.Until(next)):
			}
			sent := time.Now()
			limit, cancel := context.WithDeadline(context.Background(), until)
			held, err := renew(limit)
			cancel()
			switch {
			case err == nil && held:
				until, next = sent.Add(ttl-ttl/50), sent.Add(ttl/3)
			case err == nil || !time.Now().Before(until):
				over(errors.New("the renewal failed"))
				return
			default:
				next = time.Now().Add(min(ttl/20, time.Until(until)))
			}
		}
	}()
	return lost, sync.OnceFunc(func() { close(done); <-gone })
}

type maker = func(env locktest.Env) (locktest.Lock, error)

func ms(d time.Duration) int64 { return d.Milliseconds() }

// checked adds to a lock what belongs to any: a lease that is over when it arrives is given back.
func checked(make maker) maker {
	return func(env locktest.Env) (locktest.Lock, error) {
		l, err := make(env)
		if err != nil {
			return nil, err
		}
		acquire := func(ctx context.Context, key string) (*locktest.Lease, error) {
			lease, err := l.Acquire(ctx, key)
			if err == nil && !lease.Until.IsZero() && !time.Now().Before(lease.Until) {
				_ = lease.Release(context.Background())
				return nil, errTaken
			}
			return lease, err
		}
		if c, ok := l.(closing); ok {
			return closing{locktest.LockFunc(acquire), c.stop}, nil
		}
		return locktest.LockFunc(acquire), nil
	}
}
