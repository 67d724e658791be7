package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
	"github.com/redis/rueidis/rueidislock"

	"lockpick/redlock"
)

// locker is the interface of all measured locks.
type locker interface {
	// Lock waits for the lock and returns a function that releases it.
	Lock(ctx context.Context, key string) (unlock func() error, err error)
	Close()
}

// contestant is one lock with its default options, apart from the TTL.
type contestant struct {
	name    string
	module  string // the module whose version is printed
	masters int    // 0: all masters
	open    func(addrs []string) (locker, error)
}

const ttl = 10 * time.Second

var (
	ours    = contestant{name: "redlock", open: openRedlock()}
	wakeups = contestant{name: "redlock, wake-ups", open: openRedlock(redlock.WithWakeups())}

	redsyncPlain   = contestant{name: "redsync", module: "github.com/go-redsync/redsync/v4", open: openRedsync()}
	redsyncFast    = contestant{name: "redsync, fail-fast", open: openRedsync(redsync.WithFailFast(true))}
	redsyncRueidis = contestant{name: "redsync, rueidis", open: openRedsyncRueidis}
	bsm            = contestant{name: "redislock (1 master)", module: "github.com/bsm/redislock", masters: 1, open: openRedislock}
	rueidis1       = contestant{name: "rueidislock (1 master)", module: "github.com/redis/rueidis", masters: 1, open: openRueidislock}
)

// contestants are all locks of the tables in which each can take part.
var contestants = []contestant{ours, redsyncPlain, redsyncFast, redsyncRueidis, bsm, rueidis1}

func dial(addrs []string) []*redis.Client {
	var clients []*redis.Client
	for _, a := range addrs {
		clients = append(clients, redis.NewClient(&redis.Options{Addr: a}))
	}
	return clients
}

func hangUp(clients []*redis.Client) {
	for _, c := range clients {
		_ = c.Close()
	}
}

type redlockLocker struct {
	*redlock.Client
	clients []*redis.Client
}

func openRedlock(options ...redlock.Option) func([]string) (locker, error) {
	return func(addrs []string) (locker, error) {
		clients := dial(addrs)
		// Use redsync's timeout per master. The default of redlock is shorter, and a
		// machine with other load stalls for longer.
		c, err := redlock.New(clients, append([]redlock.Option{redlock.WithTTL(ttl), redlock.WithTimeout(ttl / 20)}, options...)...)
		return redlockLocker{c, clients}, err
	}
}

func (l redlockLocker) Lock(ctx context.Context, key string) (func() error, error) {
	lease, err := l.Client.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	return func() error { return lease.Unlock(context.Background()) }, nil
}

func (l redlockLocker) Close() {
	_ = l.Client.Close()
	hangUp(l.clients)
}

type redsyncLocker struct {
	close   func()
	rs      *redsync.Redsync
	options []redsync.Option
}

func openRedsync(options ...redsync.Option) func([]string) (locker, error) {
	return func(addrs []string) (locker, error) {
		clients := dial(addrs)
		var pools []redsyncredis.Pool
		for _, c := range clients {
			pools = append(pools, goredis.NewPool(c))
		}
		return newRedsync(pools, func() { hangUp(clients) }, options...), nil
	}
}

// openRedsyncRueidis opens redsync with the client that is its fastest: rueidis writes the commands of all goroutines
// into pipelines.
func openRedsyncRueidis(addrs []string) (locker, error) {
	var clients []rueidis.Client
	hangUp := func() {
		for _, c := range clients {
			c.Close()
		}
	}
	var pools []redsyncredis.Pool
	for _, addr := range addrs {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
		if err != nil {
			hangUp()
			return nil, err
		}
		clients = append(clients, c)
		pools = append(pools, redsyncrueidis.NewPool(rueidiscompat.NewAdapter(c)))
	}
	return newRedsync(pools, hangUp), nil
}

// newRedsync makes a lock with as many tries as the context allows, like the other locks.
func newRedsync(pools []redsyncredis.Pool, hangUp func(), options ...redsync.Option) redsyncLocker {
	return redsyncLocker{hangUp, redsync.New(pools...), append([]redsync.Option{redsync.WithExpiry(ttl), redsync.WithTries(1 << 20)}, options...)}
}

func (l redsyncLocker) Lock(ctx context.Context, key string) (func() error, error) {
	m := l.rs.NewMutex(key, l.options...)
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	return func() error {
		_, err := m.UnlockContext(context.Background())
		return err
	}, nil
}

func (l redsyncLocker) Close() { l.close() }

type redislockLocker struct {
	client *redis.Client
	locks  *redislock.Client
}

func openRedislock(addrs []string) (locker, error) {
	c := dial(addrs[:1])[0]
	return redislockLocker{c, redislock.New(c)}, nil
}

func (l redislockLocker) Lock(ctx context.Context, key string) (func() error, error) {
	lock, err := l.locks.Obtain(ctx, key, ttl, &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
	if err != nil {
		return nil, err
	}
	return func() error { return lock.Release(context.Background()) }, nil
}

func (l redislockLocker) Close() { _ = l.client.Close() }

type rueidisLocker struct{ rueidislock.Locker }

func openRueidislock(addrs []string) (locker, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: addrs[:1]}, KeyMajority: 1, KeyValidity: ttl,
	})
	return rueidisLocker{l}, err
}

func (l rueidisLocker) Lock(ctx context.Context, key string) (func() error, error) {
	_, cancel, err := l.WithContext(ctx, key)
	if err != nil {
		return nil, err
	}
	return func() error { cancel(); return nil }, nil
}

func (l rueidisLocker) Close() { l.Locker.Close() }
