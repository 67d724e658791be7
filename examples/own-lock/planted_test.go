package ownlock

import (
	"context"
	"crypto/rand"
	"errors"
	mrand "math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/locktest"
)

// bugs are what can be wrong with ownLock, each alone; the zero value is right.
type bugs struct {
	minority     bool // one master less than a majority is enough
	reachable    bool // a majority of the masters that answer is enough
	noValidity   bool // the time that the masters took is not subtracted
	noRollback   bool // an attempt that failed is not taken back, and counts in the next one
	plainDelete  bool // a release does not compare the token
	errorsAreYes bool // a master that did not answer counts as one that has granted
	sameToken    bool // all clients have the same token
	overwrites   bool // SET without NX
	extendLies   bool // an extension that failed counts as success
	shortKeys    bool // keys live half as long as the lease
}

// ownLock is Redlock in few lines of plain go-redis commands.
type ownLock struct {
	masters []*redis.Client
	ttl     time.Duration
	bugs    bugs
}

func with(b bugs) func(locktest.Env) (locktest.Lock, error) {
	return func(env locktest.Env) (locktest.Lock, error) { return &ownLock{env.Clients(), env.TTL, b}, nil }
}

var errRefused = errors.New("refused")

// all asks every master at once, and counts those that say yes and those that say anything.
func (l *ownLock) all(ask func(*redis.Client) (bool, error)) (yes, answered int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, c := range l.masters {
		wg.Go(func() {
			ok, err := ask(c)
			mu.Lock()
			defer mu.Unlock()
			if ok || err != nil && !errors.Is(err, redis.Nil) && l.bugs.errorsAreYes {
				yes++
			}
			if err == nil || errors.Is(err, redis.Nil) {
				answered++
			}
		})
	}
	wg.Wait()
	return yes, answered
}

func (l *ownLock) quorum(answered int) int {
	switch n := len(l.masters); {
	case l.bugs.minority:
		return max(n/2, 1)
	case l.bugs.reachable:
		return answered/2 + 1
	default:
		return n/2 + 1
	}
}

func (l *ownLock) Acquire(ctx context.Context, key string) (*locktest.Lease, error) {
	token := rand.Text()
	if l.bugs.sameToken {
		token = "locked"
	}
	for ctx.Err() == nil {
		if until, ok := l.attempt(ctx, key, token); ok {
			return l.lease(key, token, until), nil
		}
		if !l.bugs.noRollback {
			l.release(ctx, key, token)
		}
		time.Sleep(20*time.Millisecond + mrand.N(80*time.Millisecond))
	}
	return nil, ctx.Err()
}

// attempt asks all masters once.
func (l *ownLock) attempt(ctx context.Context, key, token string) (until time.Time, ok bool) {
	began := time.Now()
	ttl := l.ttl
	if l.bugs.shortKeys {
		ttl /= 2
	}
	yes, answered := l.all(func(c *redis.Client) (bool, error) {
		if l.bugs.overwrites {
			return l.overwrite(ctx, c, key, token, ttl)
		}
		ok, err := c.SetNX(ctx, key, token, ttl).Result()
		if !ok && err == nil && l.bugs.noRollback { // it may be what an earlier attempt has left
			now, err := c.Get(ctx, key).Result()
			return now == token, err
		}
		return ok, err
	})
	until = began.Add(l.ttl - l.ttl/50)
	if l.bugs.noValidity {
		until = time.Now().Add(l.ttl)
	}
	return until, yes >= l.quorum(answered) && time.Now().Before(until)
}

// overwrite is a GET and then a SET, where a SET NX should be.
func (l *ownLock) overwrite(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
	if _, err := c.Get(ctx, key).Result(); !errors.Is(err, redis.Nil) {
		return false, err
	}
	err := c.Set(ctx, key, token, ttl).Err()
	return err == nil, err
}

var compareAndDelete = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
var compareAndExpire = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)

func (l *ownLock) release(ctx context.Context, key, token string) error {
	yes, _ := l.all(func(c *redis.Client) (bool, error) {
		if l.bugs.plainDelete {
			n, err := c.Del(ctx, key).Result()
			return n == 1, err
		}
		n, err := compareAndDelete.Run(ctx, c, []string{key}, token).Int()
		return n == 1, err
	})
	if yes < len(l.masters)/2+1 {
		return errRefused
	}
	return nil
}

func (l *ownLock) lease(key, token string, until time.Time) *locktest.Lease {
	return &locktest.Lease{
		Until:   until,
		Release: func(ctx context.Context) error { return l.release(ctx, key, token) },
		Extend: func(ctx context.Context) (time.Time, error) {
			began := time.Now()
			yes, answered := l.all(func(c *redis.Client) (bool, error) {
				n, err := compareAndExpire.Run(ctx, c, []string{key}, token, l.ttl.Milliseconds()).Int()
				return n == 1, err
			})
			longer := began.Add(l.ttl - l.ttl/50)
			if l.bugs.extendLies {
				return longer, nil
			}
			if yes < l.quorum(answered) || time.Now().After(until) {
				return time.Time{}, errRefused
			}
			return longer, nil
		},
	}
}
