package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

// A semaphore of one permit, a sorted set of tokens with the times at which they were taken. The bug: the times are those of
// the clients' clocks, and a client whose clock is ahead removes permits that are valid. The control goes by Redis' clock.
var wallTake = redis.NewScript(`local now = tonumber(ARGV[3])
if now < 0 then
  local t = redis.call("time")
  now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end
redis.call("zremrangebyscore", KEYS[1], "-inf", now - tonumber(ARGV[2]))
if redis.call("zcard", KEYS[1]) >= 1 then return 0 end
redis.call("zadd", KEYS[1], now, ARGV[1])
redis.call("pexpire", KEYS[1], ARGV[2])
return 1`)

func wallClock(bug bool) maker {
	return func(env locktest.Env) (locktest.Lock, error) {
		m := env.Clients()[0]
		return locktest.LockFunc(func(ctx context.Context, key string) (*locktest.Lease, error) {
			tok := token()
			var began time.Time
			if err := poll(ctx, 20*time.Millisecond, func() (bool, error) {
				began = time.Now()
				now := int64(-1)
				if bug {
					now = began.UnixMilli()
				}
				n, err := wallTake.Run(ctx, m, []string{key}, tok, ms(env.TTL), now).Int()
				return n == 1, err
			}); err != nil {
				m.ZRem(context.Background(), key, tok)
				return nil, err
			}
			return &locktest.Lease{Token: tok, Until: began.Add(env.TTL - env.TTL/50),
				Release: func(ctx context.Context) error { return m.ZRem(ctx, key, tok).Err() }}, nil
		}), nil
	}
}
