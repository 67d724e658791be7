package main

import (
	"context"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

type goZeroLock struct {
	store   *redis.Redis
	key     string
	seconds int
	held    *redis.RedisLock
}

func openGoZero(masters []string, ttl time.Duration) (func(key string) lock, error) {
	logx.Disable()
	store, err := redis.NewRedis(redis.RedisConf{Host: masters[0], Type: redis.NodeType})
	return func(key string) lock { return &goZeroLock{store: store, key: key, seconds: int(ttl / time.Second)} }, err
}

func (l *goZeroLock) acquire(ctx context.Context) (token string, err error) {
	l.held = redis.NewRedisLock(l.store, l.key)
	l.held.SetExpire(l.seconds)
	for ctx.Err() == nil {
		if ok, err := l.held.AcquireCtx(ctx); ok || err != nil {
			return "", err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "", errNotHeld
}

// extend acquires again: that prolongs what is held.
func (l *goZeroLock) extend(ctx context.Context) error  { return held(l.held.AcquireCtx(ctx)) }
func (l *goZeroLock) release(ctx context.Context) error { return held(l.held.ReleaseCtx(ctx)) }
func (l *goZeroLock) refused(error) bool                { return false }
