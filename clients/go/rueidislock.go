package main

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidisLock extends by itself, and promises no time: the lease is over when its context is.
type rueidisLock struct {
	locker rueidislock.Locker
	key    string
	cancel context.CancelFunc
	untold func() bool // stops what tells that the lease is over
}

func openRueidislock(masters []string, ttl time.Duration) (func(key string) lock, error) {
	redis := rueidis.ClientOption{InitAddress: masters[:1]}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{KeyValidity: ttl, KeyMajority: 1, ClientOption: redis})
	return func(key string) lock { return &rueidisLock{locker: locker, key: key} }, err
}

func (l *rueidisLock) acquire(ctx context.Context) (token string, err error) {
	waiting, giveUp := context.WithCancel(context.Background()) // which the lease would end with
	stop := context.AfterFunc(ctx, giveUp)
	lease, cancel, err := l.locker.WithContext(waiting, l.key)
	if !stop() || err != nil {
		giveUp()
		return "", errNotHeld
	}
	l.cancel, l.untold = cancel, context.AfterFunc(lease, func() { printEnd(l.key, "its context is over") })
	return "", nil
}

func (l *rueidisLock) extend(context.Context) error  { return errNotHeld }
func (l *rueidisLock) release(context.Context) error { l.untold(); l.cancel(); return nil }
func (l *rueidisLock) refused(error) bool            { return false }
