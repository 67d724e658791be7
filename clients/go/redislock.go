package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

type redislockLock struct {
	client *redislock.Client
	key    string
	ttl    time.Duration
	held   *redislock.Lock
}

// openRedislock returns how the library is opened on a client of go-redis for the masters: options says which.
func openRedislock(options func(masters []string) *redis.UniversalOptions) func([]string, time.Duration) (func(string) lock, error) {
	return func(masters []string, ttl time.Duration) (func(string) lock, error) {
		client := redislock.New(redis.NewUniversalClient(options(masters)))
		return func(key string) lock { return &redislockLock{client: client, key: key, ttl: ttl} }, nil
	}
}

func (l *redislockLock) acquire(ctx context.Context) (token string, err error) {
	l.held, err = l.client.Obtain(ctx, l.key, l.ttl, &redislock.Options{RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond)})
	if err != nil {
		return "", err
	}
	return l.held.Token(), nil
}

func (l *redislockLock) extend(ctx context.Context) error  { return l.held.Refresh(ctx, l.ttl, nil) }
func (l *redislockLock) release(ctx context.Context) error { return l.held.Release(ctx) }

func (l *redislockLock) refused(err error) bool {
	return errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrLockNotHeld)
}
