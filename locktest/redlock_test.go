package locktest_test

import (
	"context"
	"testing"
	"time"

	"lockpick/internal/sampletest"
	"lockpick/locktest"
	"lockpick/redlock"
)

// redlocked is Redlock as a user of the library would test it: its votes are known only from what the
// masters did.
func redlocked(options ...redlock.Option) func(locktest.Env) (locktest.Lock, error) {
	return func(env locktest.Env) (locktest.Lock, error) {
		c, err := redlock.New(env.Clients(), append([]redlock.Option{redlock.WithTTL(env.TTL)}, options...)...)
		if err != nil {
			return nil, err
		}
		return &redlockedLock{c}, nil
	}
}

type redlockedLock struct{ client *redlock.Client }

func (l *redlockedLock) Close() error { return l.client.Close() }

func (l *redlockedLock) Acquire(ctx context.Context, key string) (*locktest.Lease, error) {
	lease, err := l.client.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	return &locktest.Lease{Token: lease.Token(), Until: lease.Until(), Release: lease.Unlock,
		Extend: func(ctx context.Context) (time.Time, error) {
			next, err := lease.Extend(ctx)
			if err != nil {
				return lease.Until(), err
			}
			lease = next
			return next.Until(), nil
		}}, nil
}

// TestRedlockIsNotConvicted: kills of masters that remember and partitions break neither its keys nor mutual
// exclusion, with and without fencing tokens.
func TestRedlockIsNotConvicted(t *testing.T) {
	for name, options := range map[string][]redlock.Option{"plain": nil, "fencing": {redlock.WithFencing()}} {
		t.Run(name, func(t *testing.T) {
			locktest.Explore(t, redlocked(options...), locktest.Faults("kill", "partition"), locktest.Persistence("always"),
				locktest.Properties("L1", "L2", "EXT"), locktest.Schedules(sampletest.Count(200, 4, 1)))
		})
	}
}
