package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidisLock extends by itself, and promises no time: the lease is over when its context is.
type rueidisLock struct {
	locker rueidislock.Locker
	cancel context.CancelFunc
	untold func() bool // stops what tells that the lease is over
}

func openRueidislock(masters []string, ttl time.Duration) (lock, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		KeyValidity: ttl, KeyMajority: 1, ClientOption: rueidis.ClientOption{InitAddress: masters[:1]},
	})
	return &rueidisLock{locker: locker}, err
}

func (l *rueidisLock) acquire(ctx context.Context, key string) (token string, err error) {
	waiting, giveUp := context.WithCancel(context.Background()) // which the lease would end with
	stop := context.AfterFunc(ctx, giveUp)
	lease, cancel, err := l.locker.WithContext(waiting, key)
	if !stop() || err != nil {
		giveUp()
		return "", errors.Join(errNotHeld, err)
	}
	l.cancel = cancel
	l.untold = context.AfterFunc(lease, func() {
		say(message{"type": "ended", "key": key, "value": message{}, "error": "its context is over", "when": monotonic()})
	})
	return "", nil
}

func (l *rueidisLock) extend(context.Context) error { return errNotHeld }

func (l *rueidisLock) release(context.Context) error {
	l.untold()
	l.cancel()
	return nil
}
