package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster/virtual"
	"lockpick/redlock"
	"lockpick/workload"
)

// Lock is the lock under test, as one client uses it. If it is an io.Closer, it is closed at
// the end.
type Lock interface {
	// Acquire waits until the lock is granted or ctx ends.
	Acquire(ctx context.Context, key string) (*Lease, error)
}

// LockFunc is a Lock that is one function.
type LockFunc func(ctx context.Context, key string) (*Lease, error)

// Acquire calls f.
func (f LockFunc) Acquire(ctx context.Context, key string) (*Lease, error) { return f(ctx, key) }

// Lease is what a client holds.
type Lease struct {
	// Until is until when the holder relies on it, by its own clock. The zero value stands for
	// a TTL from when Acquire returned, less a twentieth: what the user of a lock assumes that
	// does not say.
	Until time.Time
	// Token tells leases apart in the story of a failure. It may be empty.
	Token string
	// Release gives the lock back.
	Release func(ctx context.Context) error
	// Extend prolongs the lease and returns its new end; the zero value stands for a TTL from
	// then. Nil: the lock cannot extend.
	Extend func(ctx context.Context) (until time.Time, err error)
	// Lost ends when the lock knows that the lease is over. It may be nil.
	Lost context.Context
}

// Env is where one client's lock lives.
type Env struct {
	Client string        // c1, c2, …
	Addrs  []string      // of the masters
	TTL    time.Duration // that leases are to have
	// Dial connects to an address of Addrs. Nothing else reaches the masters.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	opened *[]io.Closer
}

// Clients returns go-redis clients of the masters, one each, with timeouts of a tenth of the
// TTL. They are closed at the end.
func (e Env) Clients() []*redis.Client {
	var all []*redis.Client
	for _, a := range e.Addrs {
		c := redis.NewClient(&redis.Options{
			Addr: a, Dialer: e.Dial, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
			DialTimeout: e.TTL / 10, ReadTimeout: e.TTL / 10, WriteTimeout: e.TTL / 10,
		})
		all = append(all, c)
		*e.opened = append(*e.opened, c)
	}
	return all
}

// kind is the lock as the workload knows it.
func kind(name string, make func(Env) (Lock, error)) workload.Kind {
	return workload.Kind{
		Name: name, Summary: "the lock of a test", Opaque: true,
		New: func(s workload.Env) (workload.Lock, error) {
			env := Env{Client: s.Client, Addrs: s.Addrs, TTL: s.TTL, opened: &[]io.Closer{}}
			a := &adapted{site: s, opened: env.opened, told: map[string]bool{}}
			env.Dial = a.dial
			l, err := make(env)
			if err == nil && l == nil {
				err = errors.New("the test returned neither a lock nor an error")
			}
			if err != nil {
				return nil, errors.Join(err, a.Close())
			}
			a.lock = l
			return a, nil
		},
	}
}

// adapted is a user's lock as the workload uses it.
type adapted struct {
	lock   Lock
	site   workload.Env
	opened *[]io.Closer
	leases int

	mu    sync.Mutex
	token string          // that the latest command of the client wrote to take a lock
	told  map[string]bool // tokens of leases
}

// dial has the lock commands on the client's connections recorded as votes.
func (a *adapted) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := a.site.Dial(ctx, network, addr)
	if err == nil {
		virtual.Observe(c, a.hear)
	}
	return c, err
}

func (a *adapted) hear(v redlock.Vote) {
	a.mu.Lock()
	if v.Kind == redlock.Set && v.Yes {
		a.token = v.Token
	}
	a.mu.Unlock()
	a.site.Hooks.Vote(v)
}

// name is the token of a lease whose lock does not say it: what its client has written last,
// unless that does not tell leases apart.
func (a *adapted) name() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token == "" || a.told[a.token] {
		return fmt.Sprintf("%s-%d", a.site.Client, a.leases)
	}
	a.told[a.token] = true
	return a.token
}

func (a *adapted) Acquire(ctx context.Context, key string) (workload.Lease, error) {
	l, err := a.lock.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	if l == nil || l.Release == nil {
		return nil, errors.New("the lock returned neither an error nor a lease with a Release")
	}
	a.leases++
	lease := &lease{a: a, of: l, until: a.end(l.Until), token: l.Token}
	if lease.token == "" {
		lease.token = a.name()
	}
	return lease, nil
}

// end is until when a lease is relied on.
func (a *adapted) end(until time.Time) time.Time {
	if until.IsZero() {
		return a.site.Runtime.Now().Add(a.site.TTL - a.site.TTL/20)
	}
	return until
}

func (a *adapted) Close() error {
	var errs []error
	if c, ok := a.lock.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	for _, c := range *a.opened {
		if err := c.Close(); err != nil && !errors.Is(err, redis.ErrClosed) { // the lock may have closed it
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// lease is a user's lease as the workload uses it.
type lease struct {
	a     *adapted
	of    *Lease
	until time.Time
	token string
}

var errNoExtend = errors.New("the lock does not extend leases")

func (l *lease) Token() string    { return l.token }
func (l *lease) Until() time.Time { return l.until }
func (l *lease) Fence() int64     { return 0 }

func (l *lease) Context() context.Context {
	if l.of.Lost != nil {
		return l.of.Lost
	}
	return context.Background()
}

func (l *lease) Extend(ctx context.Context) (workload.Lease, error) {
	if l.of.Extend == nil {
		return nil, errNoExtend
	}
	until, err := l.of.Extend(ctx)
	if err != nil {
		return nil, err
	}
	longer := *l
	longer.until = l.a.end(until)
	return &longer, nil
}

func (l *lease) Release(ctx context.Context) error { return l.of.Release(ctx) }
