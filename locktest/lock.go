package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/history"
	"lockpick/redlock"
	"lockpick/workload"
)

// Lock is the lock under test, as one client uses it. If it implements io.Closer, it is closed at the end.
type Lock interface {
	// Acquire waits until the lock is granted or ctx ends. ctx also ends after Acquire has returned, so a
	// lease must not depend on it.
	Acquire(ctx context.Context, key string) (*Lease, error)
}

// LockFunc is a Lock that consists of one function.
type LockFunc func(ctx context.Context, key string) (*Lease, error)

// Acquire calls f.
func (f LockFunc) Acquire(ctx context.Context, key string) (*Lease, error) { return f(ctx, key) }

// RWLock is a read-write lock: Acquire is for writers, of whom one has the lock alone.
type RWLock interface {
	Lock
	// AcquireRead does the same as Acquire for a reader. Readers hold the lock together.
	AcquireRead(ctx context.Context, key string) (*Lease, error)
}

// Semaphore is a lock with Env.Permits permits. Acquire is for one of them.
type Semaphore interface {
	Lock
	// AcquirePermits does the same as Acquire for a number of permits.
	AcquirePermits(ctx context.Context, key string, permits int) (*Lease, error)
}

// MultiLock is a lock that is acquired on several keys at once.
type MultiLock interface {
	Lock
	// AcquireAll does the same as Acquire for several keys, of which it acquires all or none. The lease is of all of them.
	AcquireAll(ctx context.Context, keys []string) (*Lease, error)
}

// Lease is a granted lock.
type Lease struct {
	// Until is the end of the lease's validity on the holder's clock. If it is zero, the lease is valid until
	// Lost ends. If Lost is nil, too, the lock promises no time, and the lease is taken to be valid for a TTL, less a
	// twentieth, from when the command was sent that was granted.
	Until time.Time
	// Fence is the fencing token: a later lease has a higher one. It counts only with the option Fencing.
	Fence int64
	// Token distinguishes leases in the explanation of a failure. It may be empty.
	Token string
	// Release releases the lock.
	Release func(ctx context.Context) error
	// Extend prolongs the lease and returns its new end; zero means the same as in Until. If Extend is nil,
	// the lock cannot extend leases.
	Extend func(ctx context.Context) (until time.Time, err error)
	// Downgrade makes a writer of an RWLock a reader, without a moment in which another writer could be granted the lock, and
	// Upgrade a reader the writer. An upgrade must not wait for other readers, who may wait for the same: it returns
	// ErrOthersRead. Both prolong the lease as Extend does. If one is nil, the lock cannot do it.
	Downgrade, Upgrade func(ctx context.Context) (until time.Time, err error)
	// Lost ends when the lock knows that the lease is over. It may be nil.
	Lost context.Context
}

// Env is the environment of one client's lock.
type Env struct {
	Client string        // c1, c2, …
	Addrs  []string      // addresses of the masters
	TTL    time.Duration // the TTL that leases should have
	// Permits is how many permits a semaphore has (option Permits).
	Permits int
	// Dial connects to an address of Addrs. It is the only way to reach the masters.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	opened *[]io.Closer
}

// Clients returns a go-redis client for each master, with timeouts of a tenth of the TTL. They
// are closed at the end.
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

// Kind returns the lock that make makes in the form that cli.Main registers: with its name for --lock, and a
// line about it. Tests do not need it. Set its field Masters if the lock needs one master or a majority of them, Kind if it is an RWLock, a
// Semaphore, a MultiLock or re-entrant, Fencing if its leases have fencing tokens, Retry to state its longest pause, and Fair if it serves waiters in order.
func Kind(name, summary string, make func(Env) (Lock, error)) workload.Implementation {
	return workload.Implementation{
		Name: name, Summary: summary, Connects: true,
		New: func(s workload.Env) (workload.Lock, error) {
			env := Env{Client: s.Client, Addrs: s.Addrs, TTL: s.TTL, Permits: s.Permits, opened: &[]io.Closer{}}
			a := &adapted{site: s, opened: env.opened}
			a.halt = halt{decided: s.Hooks.Decided, point: s.Pass, quorum: len(s.Addrs)/2 + 1}
			env.Dial = a.dial
			if s.Observe != nil { // before the lock opens its first connection
				s.Observe(a.observed)
			}
			l, err := make(env)
			if err == nil && l == nil {
				err = errors.New("neither a lock nor an error was returned")
			}
			if err == nil {
				err = fits(l, s.Kind)
			}
			if err != nil {
				return nil, errors.Join(err, a.Close())
			}
			a.lock = l
			return a, nil
		},
	}
}

// fits returns an error if a lock cannot be used as one of a kind.
func fits(l Lock, kind history.LockKind) error {
	switch kind {
	case history.ReadWrite:
		if _, ok := l.(RWLock); !ok {
			return errors.New("the lock has no method AcquireRead (RWLock)")
		}
	case history.Semaphore:
		if _, ok := l.(Semaphore); !ok {
			return errors.New("the lock has no method AcquirePermits (Semaphore)")
		}
	case history.Multi:
		if _, ok := l.(MultiLock); !ok {
			return errors.New("the lock has no method AcquireAll (MultiLock)")
		}
	}
	return nil
}

// adapted adapts a user's lock to the workload.
type adapted struct {
	lock   Lock
	site   workload.Env
	opened *[]io.Closer
	leases int
	halt   halt

	mu       sync.Mutex
	attempts workload.Attempts
	conns    []net.Conn
	dead     bool // the client has crashed
	close    sync.Once
}

// dial connects. In memory, the nemesis can stop the client at the connection.
func (a *adapted) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := a.site.Dial
	if dial == nil { // the masters are real
		dial = (&net.Dialer{}).DialContext
	}
	a.halt.pass()
	c, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	a.halt.pass()
	if a.site.Dial != nil {
		c = conn{c, &a.halt}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead {
		c.Close()
		return nil, errCrashed
	}
	a.conns = append(a.conns, c)
	return c, nil
}

var errCrashed = errors.New("the client has crashed")

// Kill ends the lock of a client that has crashed, with its connections, so that it can neither release
// nor extend anything.
func (a *adapted) Kill() {
	a.mu.Lock()
	a.dead = true
	conns := a.conns
	a.conns = nil
	a.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
	_ = a.Close()
}

// observed records a vote on a link, with the time at which the reply was there.
func (a *adapted) observed(op history.Op, at time.Time) {
	a.mu.Lock()
	a.attempts.Saw(op, at)
	a.mu.Unlock()
	op.Value.Client = a.site.Client
	a.site.Record(op, time.Since(at))
	if a.site.Dial != nil {
		a.halt.vote(op)
	}
}

func (a *adapted) Acquire(ctx context.Context, key string) (workload.Lease, error) {
	return a.acquire(ctx, key, func(ctx context.Context) (*Lease, error) { return a.lock.Acquire(ctx, key) })
}

// AcquireShare acquires as a reader, or a number of permits.
func (a *adapted) AcquireShare(ctx context.Context, key string, share workload.Share) (workload.Lease, error) {
	return a.acquire(ctx, key, func(ctx context.Context) (*Lease, error) {
		if share.Mode == history.ModeRead {
			return a.lock.(RWLock).AcquireRead(ctx, key)
		}
		return a.lock.(Semaphore).AcquirePermits(ctx, key, share.Permits)
	})
}

// AcquireAll acquires several keys.
func (a *adapted) AcquireAll(ctx context.Context, keys []string) (workload.Lease, error) {
	return a.acquire(ctx, workload.KeySet(keys), func(ctx context.Context) (*Lease, error) {
		return a.lock.(MultiLock).AcquireAll(ctx, slices.Clone(keys))
	})
}

func (a *adapted) acquire(ctx context.Context, key string, ask func(context.Context) (*Lease, error)) (workload.Lease, error) {
	a.halt.acquiring(key)
	began := a.site.Runtime.Now()
	within, over := context.WithCancelCause(ctx)
	defer over(errReturned)
	call := &calling{Context: within}
	l, err := ask(call)
	a.halt.pass()
	if err != nil {
		return nil, err
	}
	if l == nil || l.Release == nil {
		return nil, a.refuse("Acquire returned neither an error nor a lease with a Release")
	}
	over(errReturned)
	if l.Lost != nil && binds(l.Lost) {
		return nil, a.refuse("Lease.Lost ends with the context of Acquire, which ends when Acquire has returned: derive it from context.Background(), or with context.WithoutCancel")
	}
	lease := &lease{a: a, key: key, of: l, call: call, token: l.Token}
	a.leases++
	if lease.token == "" || l.Until.IsZero() {
		a.attempts.Settle(&a.site, &a.mu)
	}
	if lease.token == "" {
		lease.token = a.name(began)
	}
	lease.until, lease.atLeast = a.end(l, l.Until, lease.token, began)
	if l.Lost != nil && a.site.Lost != nil {
		lease.untold = context.AfterFunc(l.Lost, func() { a.site.Lost(key, lease.token, context.Cause(l.Lost), a.site.Runtime.Now()) })
	}
	return lease, nil
}

// refuse ends the run, since the lock does not do what a Lock has to, and returns that as an error.
func (a *adapted) refuse(says string) error {
	if a.site.Refuse != nil {
		a.site.Refuse(says)
	}
	return errors.New(says)
}

// name returns the token of a lease whose lock states none: the token of the command that was granted last since the
// acquire began, unless an earlier lease has it.
func (a *adapted) name(began time.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.attempts.Token(began), fmt.Sprintf("%s-%d-%d", a.site.Client, a.site.Start, a.leases))
}

// end returns the end of the validity of a lease that an acquire or an extension granted, which began at a time. atLeast
// reports that the lease may be valid for longer, since no link saw when the attempt that succeeded began.
func (a *adapted) end(l *Lease, until time.Time, token string, began time.Time) (end time.Time, atLeast bool) {
	switch {
	case !until.IsZero():
		return until, false
	case l.Lost != nil:
		return a.site.Runtime.Now().Add(history.Endless), false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	sent, seen := a.attempts.Began(token, began)
	if !seen { // the masters store another token
		sent, seen = a.attempts.Began(a.attempts.Latest(began), began)
	}
	return sent.Add(a.site.TTL - a.site.TTL/20), !seen
}

// Close closes the lock and the clients that it got from Env, once.
func (a *adapted) Close() error {
	var errs []error
	a.close.Do(func() {
		if c, ok := a.lock.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
		for _, c := range *a.opened {
			if err := c.Close(); err != nil && !errors.Is(err, redis.ErrClosed) { // the lock may have closed it
				errs = append(errs, err)
			}
		}
	})
	return errors.Join(errs...)
}

// lease adapts a user's lease to the workload.
type lease struct {
	a       *adapted
	key     string
	of      *Lease
	call    *calling // of the acquire; it is over
	until   time.Time
	atLeast bool // it may be valid for longer
	token   string
	untold  func() bool // stops the callback that reports the loss; may be nil
}

func (l *lease) Token() string    { return l.token }
func (l *lease) Until() time.Time { return l.until }

func (l *lease) Fence() int64 {
	if !l.a.site.Fencing {
		return 0
	}
	return l.of.Fence
}

func (l *lease) Context() context.Context {
	if l.of.Lost != nil {
		return l.of.Lost
	}
	return context.Background()
}

func (l *lease) AtLeast() bool { return l.atLeast }

func (l *lease) Fixed() bool { return l.of.Extend == nil }

var errNoExtend = errors.New("the lock has no extend")

func (l *lease) Extend(ctx context.Context) (workload.Lease, error) {
	if l.Fixed() {
		return nil, errNoExtend
	}
	return l.extend(ctx, l.of.Extend)
}

// ErrOthersRead says that a lease was not upgraded, for certain. It stays as it is.
var ErrOthersRead = fmt.Errorf("%w as a writer: others read", redlock.ErrNotHeld)

func (l *lease) changeOf(mode string) func(context.Context) (time.Time, error) {
	if mode == history.ModeRead {
		return l.of.Downgrade
	}
	return l.of.Upgrade
}

func (l *lease) CanChangeMode(mode string) bool { return l.changeOf(mode) != nil }

func (l *lease) ChangeMode(ctx context.Context, mode string) (workload.Lease, error) {
	return l.extend(ctx, l.changeOf(mode))
}

func (l *lease) extend(ctx context.Context, call func(context.Context) (time.Time, error)) (workload.Lease, error) {
	began := l.a.site.Runtime.Now()
	var until time.Time
	if err := l.under(ctx, func() (err error) {
		until, err = call(ctx)
		return err
	}); err != nil {
		return nil, err
	}
	if until.IsZero() {
		l.a.attempts.Settle(&l.a.site, &l.a.mu)
	}
	longer := *l
	longer.until, longer.atLeast = l.a.end(l.of, until, l.token, began)
	return &longer, nil
}

func (l *lease) Release(ctx context.Context) error {
	if l.untold != nil {
		l.untold()
	}
	return l.under(ctx, func() error { return l.of.Release(ctx) })
}

// under makes a call of the lease, and refuses a lock whose call fails because it uses the context of the acquire.
func (l *lease) under(ctx context.Context, f func() error) error {
	done := l.a.halt.changing(l.key)
	bound, err := l.call.during(ctx, f)
	if done(); l.a.halt.hasCrashed() {
		return workload.ErrGone
	}
	if bound {
		return l.a.refuse("Release or Extend uses the context of Acquire, which ends when Acquire has returned: use the one that it is given")
	}
	return err
}
