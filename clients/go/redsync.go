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

type redsyncLock struct {
	redsync *redsync.Redsync
	ttl     time.Duration
	mutex   *redsync.Mutex
}

func openRedsync(masters []string, ttl time.Duration) (lock, error) {
	var pools []redis.Pool
	for _, addr := range masters {
		pools = append(pools, goredis.NewPool(goredislib.NewClient(&goredislib.Options{Addr: addr})))
	}
	return &redsyncLock{redsync: redsync.New(pools...), ttl: ttl}, nil
}

func (l *redsyncLock) acquire(ctx context.Context, key string) (token string, err error) {
	l.mutex = l.redsync.NewMutex(key, redsync.WithExpiry(l.ttl), redsync.WithTries(1_000))
	err = l.mutex.LockContext(ctx)
	return l.mutex.Value(), err
}

func (l *redsyncLock) extend(ctx context.Context) error  { return held(l.mutex.ExtendContext(ctx)) }
func (l *redsyncLock) release(ctx context.Context) error { return held(l.mutex.UnlockContext(ctx)) }

func (l *redsyncLock) refused(err error) bool {
	var taken *redsync.ErrTaken
	return errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) || errors.Is(err, redsync.ErrExtendFailed)
}
