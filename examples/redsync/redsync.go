package redsync

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock"
)

// Pool is a client of one master.
type Pool struct{ client redis.UniversalClient }

// NewPool makes a Pool from a go-redis client. The caller remains responsible for closing
// the client.
func NewPool(client redis.UniversalClient) Pool { return Pool{client} }

// Redsync makes mutexes on a set of masters.
type Redsync struct {
	locks *redlock.Client
	err   error // the reason why locks is nil; every Lock returns it
}

// New makes a Redsync from one pool for each master. If the pools are invalid (see
// redlock.New), every Lock and TryLock returns the reason.
func New(pools ...Pool) *Redsync {
	var clients []redis.UniversalClient
	for _, p := range pools {
		clients = append(clients, p.client)
	}
	locks, err := redlock.New(clients)
	r := &Redsync{locks, err}
	if locks != nil { // programs may make one for each request and never close it
		runtime.AddCleanup(r, func(locks *redlock.Client) { go locks.Close() }, locks)
	}
	return r
}

// NewFrom makes a Redsync from a redlock.Client, for features that redsync does not have.
// The options of each Mutex replace the Client's TTL, retry delay, drift allowance, timeout
// and limit of extensions.
//
// LockContext and Lock also replace the Client's hooks, because they count tries with a
// hook: for locks that they acquire, only the function of redlock.WithSuspect is called. Locks acquired with
// TryLockContext and TryLock call all hooks.
func NewFrom(locks *redlock.Client) *Redsync { return &Redsync{locks: locks} }

// Close closes the redlock.Client, also one that was given to NewFrom: it ends the background
// goroutines. redsync has no such method. A Redsync of New is also closed when the program no
// longer refers to it or its mutexes. The error is that of redlock.Client.Close.
func (r *Redsync) Close() error {
	if r.locks == nil {
		return nil
	}
	return r.locks.Close()
}

// NewMutex makes a mutex. Its name is the key on the masters.
func (r *Redsync) NewMutex(name string, options ...Option) *Mutex {
	m := &Mutex{
		redsync: r, name: name, expiry: 8 * time.Second, tries: 32, driftFactor: 0.01, timeoutFactor: 0.05,
		delayMin: 50 * time.Millisecond, delayMax: 250 * time.Millisecond,
	}
	for _, o := range options {
		o.Apply(m)
	}
	return m
}

// Option configures a mutex.
type Option interface{ Apply(*Mutex) }

// OptionFunc is a function that is an Option.
type OptionFunc func(*Mutex)

// Apply calls f.
func (f OptionFunc) Apply(m *Mutex) { f(m) }

// WithExpiry sets how long masters keep a lock that is neither released nor extended. The
// default is 8 s.
func WithExpiry(d time.Duration) Option { return OptionFunc(func(m *Mutex) { m.expiry = d }) }

// WithTries sets the greatest number of attempts of one Lock. The default is 32.
func WithTries(n int) Option { return OptionFunc(func(m *Mutex) { m.tries = n }) }

// WithRetryDelay sets a constant time between two tries. The default is a random time from
// 50 to 250 ms, which is better: with constant delays, clients that split the votes once
// are likely to split them again.
func WithRetryDelay(d time.Duration) Option {
	return OptionFunc(func(m *Mutex) { m.delayMin, m.delayMax, m.delay = d, d, nil })
}

// DelayFunc returns how long to wait after a number of tries.
type DelayFunc func(tries int) time.Duration

// WithRetryDelayFunc sets a function that returns the time between two tries. Each Lock also
// calls it for the first and the last try, to bound the time in the queue.
func WithRetryDelayFunc(f DelayFunc) Option { return OptionFunc(func(m *Mutex) { m.delay = f }) }

// WithDriftFactor sets the allowance for clocks that run at different rates, as a part of
// the expiry, to which 2 ms are added. The default is 0.01.
func WithDriftFactor(f float64) Option { return OptionFunc(func(m *Mutex) { m.driftFactor = f }) }

// WithTimeoutFactor sets how long a master may take to reply, as a part of the expiry (see
// redlock.WithTimeout). The default is 0.05.
func WithTimeoutFactor(f float64) Option { return OptionFunc(func(m *Mutex) { m.timeoutFactor = f }) }

// WithFailFast has no effect: the replies of a majority are always enough.
func WithFailFast(bool) Option { return OptionFunc(func(*Mutex) {}) }

// WithShufflePools has no effect: commands go to all masters at once.
func WithShufflePools(bool) Option { return OptionFunc(func(*Mutex) {}) }

// Mutex is a lock on one name. It can be locked again after it was unlocked. Only one
// goroutine at a time may use it.
type Mutex struct {
	redsync                    *Redsync
	name                       string
	expiry, delayMin, delayMax time.Duration
	delay                      DelayFunc // nil: random, from delayMin to delayMax
	tries                      int
	driftFactor, timeoutFactor float64

	mu    sync.Mutex
	lease *redlock.Lease // nil: it was never locked
}

// Name returns the key on the masters.
func (m *Mutex) Name() string { return m.name }

// Lease returns the lease of the latest lock, whose context ends when the lock is over. It is
// nil if the mutex was never locked.
func (m *Mutex) Lease() *redlock.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease
}

// Value returns the value that the masters store, which is random and differs for each
// attempt; "" if the mutex was never locked.
func (m *Mutex) Value() string {
	if l := m.Lease(); l != nil {
		return l.Token()
	}
	return ""
}

// Until returns the end of the latest lock's validity (redlock.Lease.Until), or the zero
// time if the mutex was never locked.
func (m *Mutex) Until() time.Time {
	if l := m.Lease(); l != nil {
		return l.Until()
	}
	return time.Time{}
}

func (m *Mutex) keep(l *redlock.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lease = l
}

func (m *Mutex) options() []redlock.CallOption {
	return []redlock.CallOption{
		redlock.WithTTL(m.expiry), redlock.WithRetryDelay(m.delayMin, m.delayMax), redlock.WithRetryDelayFunc(m.delay), redlock.WithMaxHold(math.MaxInt64),
		redlock.WithDrift(m.driftFactor, 2*time.Millisecond), redlock.WithTimeout(time.Duration(float64(m.expiry) * m.timeoutFactor)),
	}
}

// Errors, as in redsync. Each is wrapped together with redlock's error, so that errors.Is
// and errors.As find both.
var (
	// ErrFailed means that Lock did not acquire the lock in the permitted number of tries.
	ErrFailed = errors.New("redsync: failed to acquire lock")
	// ErrExtendFailed means that the lock was not extended.
	ErrExtendFailed = errors.New("redsync: failed to extend lock")
	// ErrLockAlreadyExpired means that the lock was over before it was released.
	ErrLockAlreadyExpired = errors.New("redsync: failed to unlock, lock was already expired")
)

// ErrNodeTaken says that a master stores the lock of another client. Errors wrap it as a
// pointer. Node is the index of the master.
type ErrNodeTaken struct{ Node int }

// Error returns the text that redsync uses.
func (err ErrNodeTaken) Error() string { return fmt.Sprintf("node #%d: taken", err.Node) }

// RedisError says that a master failed. Errors wrap it as a pointer.
type RedisError struct {
	Node int   // index of the master
	Err  error // of the master
}

// Error returns the text that redsync uses.
func (err RedisError) Error() string { return fmt.Sprintf("node #%d: %s", err.Node, err.Err) }

// Unwrap returns the master's error.
func (err RedisError) Unwrap() error { return err.Err }

// ErrTaken says that another client holds the lock. Errors wrap it as a pointer.
type ErrTaken struct {
	Nodes []int // masters that store the other lock, as far as they had answered
}

// Error returns the text that redsync uses.
func (err ErrTaken) Error() string { return "lock already taken" }
