package workload

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock"
)

// redlocks lists this project's own lock, and variants of it.
var redlocks = []Implementation{
	{
		Name: "redlock", Fencing: true, Claims: []int{10},
		Summary: "Redlock: all masters at once, a majority, validity checked",
		Retry:   redlock.DefaultRetryMax,
		New:     func(s Env) (Lock, error) { return newRedlock(s) },
	},
	{
		Name: "redlock-sequential", Fencing: true, Claims: []int{22},
		Summary: "Redlock as its first text has it: one master after the other",
		Retry:   redlock.DefaultRetryMax,
		New:     func(s Env) (Lock, error) { return newRedlock(s, redlock.WithSequential()) },
	},
	{
		Name: "single", Fencing: true, Masters: OneMaster, Claims: []int{3, 7, 8, 33},
		Summary: "SET NX PX and a compare-and-delete script on the first master alone",
		Retry:   redlock.DefaultRetryMax,
		New:     func(s Env) (Lock, error) { return newRedlock(s.first()) },
	},
}

// redlockLock is this project's own lock, used as a program would use it.
type redlockLock struct {
	client *redlock.Client
	hangUp func() error // closes its connections
}

func newRedlock(s Env, opts ...redlock.Option) (Lock, error) {
	opts = append([]redlock.Option{
		redlock.WithTTL(s.TTL), redlock.WithTimeout(s.Timeout), redlock.WithRuntime(s.Runtime), redlock.WithHooks(s.Hooks),
	}, opts...)
	if s.Wait > 0 {
		opts = append(opts, redlock.WithWait(s.Wait))
	}
	if s.Fencing {
		opts = append(opts, redlock.WithFencing())
	}
	if s.Masters != nil {
		c, err := redlock.NewWithMasters(s.Masters, opts...)
		return redlockLock{c, func() error { return nil }}, err
	}
	masters, hangUp, err := s.dial()
	if err != nil {
		return nil, err
	}
	c, err := redlock.New(masters, opts...)
	if err != nil {
		return nil, errors.Join(err, hangUp())
	}
	return redlockLock{c, hangUp}, nil
}

// dial makes a client for each master. Each client dials once at a time, because the lock has
// a backoff of its own.
func (s Env) dial() (clients []*redis.Client, hangUp func() error, err error) {
	secured, err := s.Access.TLS()
	if err != nil {
		return nil, nil, err
	}
	for _, a := range s.Addrs {
		o := &redis.Options{Addr: a, Dialer: s.Dial, DialerRetries: 1, PipelinePoolSize: -1, Username: s.Access.User, Password: s.Access.Password, TLSConfig: secured}
		o.Dialer = redlock.BoundedDialer(o)
		clients = append(clients, redis.NewClient(o))
	}
	return clients, func() (err error) {
		for _, c := range clients {
			err = errors.Join(err, c.Close())
		}
		return err
	}, nil
}

func (l redlockLock) Acquire(ctx context.Context, key string) (Lease, error) {
	lease, err := l.client.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	return redlockLease{lease}, nil
}

func (l redlockLock) Close() error { return errors.Join(l.client.Close(), l.hangUp()) }

type redlockLease struct{ *redlock.Lease }

func (l redlockLease) Extend(ctx context.Context) (Lease, error) {
	longer, err := l.Lease.Extend(ctx)
	if err != nil {
		return nil, err
	}
	return redlockLease{longer}, nil
}

func (l redlockLease) Release(ctx context.Context) error { return l.Unlock(ctx) }
