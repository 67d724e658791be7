package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
)

type redsyncLock struct{ mutex *redsync.Mutex }

func openRedsync(masters []string, ttl time.Duration) (func(key string) lock, error) {
	var pools []redis.Pool
	for _, addr := range masters {
		pools = append(pools, goredis.NewPool(goredislib.NewClient(&goredislib.Options{Addr: addr})))
	}
	r := redsync.New(pools...)
	return func(key string) lock {
		return &redsyncLock{r.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1_000))}
	}, nil
}

func (l *redsyncLock) acquire(ctx context.Context) (token string, err error) {
	err = l.mutex.LockContext(ctx)
	return l.mutex.Value(), err
}

func (l *redsyncLock) extend(ctx context.Context) error  { return held(l.mutex.ExtendContext(ctx)) }
func (l *redsyncLock) release(ctx context.Context) error { return held(l.mutex.UnlockContext(ctx)) }

func (l *redsyncLock) refused(err error) bool {
	var taken *redsync.ErrTaken
	return errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) || errors.Is(err, redsync.ErrExtendFailed)
}
