package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/redlock"
)

// fakeLock grants whatever is asked, to everybody, after a while: what its clients do
// with it depends on nobody else.
type fakeLock struct {
	env      Env
	latency  time.Duration // of each call
	refuse   error         // of every acquire
	never    bool          // acquire waits for the end of its context
	extended error         // what comes of extensions
	released error         // what comes of a release
	slow     time.Duration // of each release, beside the latency
	lost     time.Duration // how long after its grant a lease is known to be lost; 0: never
	late     time.Duration // how long after that the client learns it, if the lock says when it was
	made     int
	closed   int
}

func (l *fakeLock) Acquire(ctx context.Context, key string) (Lease, error) {
	if l.never {
		return nil, l.env.Runtime.Sleep(ctx, time.Hour)
	}
	begun := l.env.Runtime.Now()
	if err := l.env.Runtime.Sleep(ctx, l.latency); err != nil {
		return nil, err
	}
	if l.refuse != nil {
		return nil, l.refuse
	}
	l.made++
	lease := &fakeLease{lock: l, token: fmt.Sprintf("t%d", l.made), until: begun.Add(l.env.TTL)}
	if l.env.Fencing {
		lease.fence = int64(l.made)
	}
	lease.ctx, lease.end = l.env.Runtime.WithCancelCause(context.Background())
	if l.lost > 0 {
		l.env.Runtime.AfterFunc(l.lost+l.late, func() {
			if l.late > 0 {
				l.env.Lost(key, lease.token, redlock.ErrLost, begun.Add(l.latency+l.lost))
			}
			lease.end(redlock.ErrLost)
		})
	}
	return lease, nil
}

func (l *fakeLock) Close() error {
	l.closed++
	return nil
}

type fakeLease struct {
	lock  *fakeLock
	token string
	until time.Time
	fence int64
	ctx   context.Context
	end   context.CancelCauseFunc
}

func (l *fakeLease) Token() string            { return l.token }
func (l *fakeLease) Until() time.Time         { return l.until }
func (l *fakeLease) Fence() int64             { return l.fence }
func (l *fakeLease) Context() context.Context { return l.ctx }

func (l *fakeLease) Extend(ctx context.Context) (Lease, error) {
	begun := l.lock.env.Runtime.Now()
	if err := l.lock.env.Runtime.Sleep(ctx, l.lock.latency); err != nil {
		return nil, err
	}
	if l.lock.extended != nil {
		if errors.Is(l.lock.extended, redlock.ErrLost) {
			l.end(redlock.ErrLost)
		}
		return nil, l.lock.extended
	}
	longer := *l
	longer.until = begun.Add(l.lock.env.TTL)
	return &longer, nil
}

func (l *fakeLease) Release(ctx context.Context) error {
	l.end(redlock.ErrReleased)
	return errors.Join(l.lock.env.Runtime.Sleep(ctx, l.lock.latency+l.lock.slow), l.lock.released)
}

// fake is a lock under test by the name of fake, each client's made by prepare.
func fake(prepare func(*fakeLock)) Implementation {
	return Implementation{Name: "fake", Fencing: true, New: func(s Env) (Lock, error) {
		l := &fakeLock{env: s}
		prepare(l)
		return l, nil
	}}
}
