package locktest_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

// A key has a Redis key for each permit: k0:0, k0:1, … Its value is the token of the permit's holder.
var take = redis.NewScript(`local free = {}
for i = 1, tonumber(ARGV[3]) do
	if redis.call("exists", KEYS[1] .. ":" .. i) == 0 then free[#free + 1] = KEYS[1] .. ":" .. i end
end
if #free < tonumber(ARGV[4]) then return 0 end
for i = 1, tonumber(ARGV[4]) do redis.call("set", free[i], ARGV[1], "PX", ARGV[2]) end
return 1`)
var give = redis.NewScript(`for i = 1, tonumber(ARGV[2]) do
	if redis.call("get", KEYS[1] .. ":" .. i) == ARGV[1] then redis.call("del", KEYS[1] .. ":" .. i) end
end
return 1`)

type slots struct {
	master *redis.Client
	env    locktest.Env
}

func (s slots) Acquire(ctx context.Context, key string) (*locktest.Lease, error) {
	return s.AcquirePermits(ctx, key, 1)
}

func (s slots) AcquirePermits(ctx context.Context, key string, permits int) (*locktest.Lease, error) {
	for ctx.Err() == nil {
		token, began := rand.Text(), time.Now()
		if n, err := take.Run(ctx, s.master, []string{key}, token, s.env.TTL.Milliseconds(), s.env.Permits, permits).Int(); n == 1 && err == nil {
			return &locktest.Lease{Token: token, Until: began.Add(s.env.TTL - s.env.TTL/50), Release: func(ctx context.Context) error {
				return give.Run(ctx, s.master, []string{key}, token, s.env.Permits).Err()
			}}, nil
		}
		time.Sleep(30 * time.Millisecond)
	}
	return nil, ctx.Err()
}

func TestSemaphore(t *testing.T) {
	locktest.Explore(t, func(env locktest.Env) (locktest.Lock, error) { return slots{env.Clients()[0], env}, nil },
		locktest.Permits(3), locktest.Masters(1), locktest.Clients(6), locktest.Faults("kill", "partition"), locktest.Schedules(100))
}
