package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

// A watchdog renews all that a process holds with one script, here the lock and the process' sign of life. Behind a proxy
// of a cluster the keys of a script must be of one slot, which these are not; errCrossSlot is that proxy's answer. The bug:
// the watchdog goes on after the refusal, and renews nothing. The control has a script for each key.
var renewKeys = redis.NewScript(`local n = 0
for i, key in ipairs(KEYS) do
  if redis.call("get", key) == ARGV[2] then n = n + redis.call("pexpire", key, ARGV[1]) end
end
return n`)

var errCrossSlot = errors.New("CROSSSLOT Keys in request don't hash to the same slot")

func renewAll(bug bool) maker {
	return func(env locktest.Env) (locktest.Lock, error) {
		m := env.Clients()[0]
		stop := make(chan struct{})
		renew := func(ctx context.Context, tok string, keys ...string) (int, error) {
			if len(keys) > 1 {
				return 0, errCrossSlot
			}
			return renewKeys.Run(ctx, m, keys, ms(env.TTL), tok).Int()
		}
		acquire := func(ctx context.Context, key string) (*locktest.Lease, error) {
			tok := token()
			began, err := take(ctx, m, key, tok, env.TTL)
			if err != nil {
				return nil, err
			}
			sign := "alive:" + tok
			m.Set(ctx, sign, tok, env.TTL)
			lost, end := keepAlive(stop, began, env.TTL, func(ctx context.Context) (bool, error) {
				if bug {
					_, _ = renew(ctx, tok, key, sign)
					return true, nil
				}
				n, err := renew(ctx, tok, key)
				_, _ = renew(ctx, tok, sign)
				return n == 1, err
			})
			return &locktest.Lease{Token: tok, Lost: lost, Release: func(ctx context.Context) error {
				end()
				m.Del(ctx, sign)
				return releases(m, key, tok)(ctx)
			}}, nil
		}
		return closing{locktest.LockFunc(acquire), stop}, nil
	}
}
