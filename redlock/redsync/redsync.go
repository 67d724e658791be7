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

// Pool is one master.
type Pool struct{ client redis.UniversalClient }

// NewPool makes a pool of a go-redis client, which stays yours to close.
func NewPool(client redis.UniversalClient) Pool { return Pool{client} }

// Redsync makes mutexes on a set of masters.
type Redsync struct {
	locks *redlock.Client
	err   error // why there is none, told by the first Lock
}

// New makes a Redsync of the masters' pools. If they are no good, every Lock says so.
func New(pools ...Pool) *Redsync {
	var clients []redis.UniversalClient
	for _, p := range pools {
		clients = append(clients, p.client)
	}
	locks, err := redlock.New(clients)
	r := &Redsync{locks, err}
	if locks != nil { // one that is made per request, and never closed
		runtime.AddCleanup(r, func(locks *redlock.Client) { go locks.Close() }, locks)
	}
	return r
}

// NewFrom makes a Redsync of a redlock client, for options that redsync has not. Its
// hooks are not told: how many tries are left is counted with hooks.
func NewFrom(locks *redlock.Client) *Redsync { return &Redsync{locks: locks} }

// Close ends what runs in the background, a goroutine per master. redsync has no such
// method. It is also called once neither the Redsync nor any of its mutexes is in use.
func (r *Redsync) Close() error {
	if r.locks == nil {
		return nil
	}
	return r.locks.Close()
}

// NewMutex makes a mutex of that name, which is the key on the masters.
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

// WithExpiry sets how long the lock is kept for who does not release it. The default is 8 s.
func WithExpiry(d time.Duration) Option { return OptionFunc(func(m *Mutex) { m.expiry = d }) }

// WithTries sets how often to try. The default is 32.
func WithTries(n int) Option { return OptionFunc(func(m *Mutex) { m.tries = n }) }

// WithRetryDelay sets the time between two tries. The default is a random time from 50 to
// 250 ms, which is better: the same for all invites that they collide again and again.
func WithRetryDelay(d time.Duration) Option {
	return OptionFunc(func(m *Mutex) { m.delayMin, m.delayMax, m.delay = d, d, nil })
}

// DelayFunc says how long to wait after so many tries.
type DelayFunc func(tries int) time.Duration

// WithRetryDelayFunc has f say how long to wait between two tries. It is also asked once
// about as many tries as there may be, for the bound of the wait in line.
func WithRetryDelayFunc(f DelayFunc) Option { return OptionFunc(func(m *Mutex) { m.delay = f }) }

// WithDriftFactor sets the allowance for clocks that run at different rates. The default
// is 0.01.
func WithDriftFactor(f float64) Option { return OptionFunc(func(m *Mutex) { m.driftFactor = f }) }

// WithTimeoutFactor sets how long to wait for one master, as a part of the expiry. The
// default is 0.05.
func WithTimeoutFactor(f float64) Option { return OptionFunc(func(m *Mutex) { m.timeoutFactor = f }) }

// WithFailFast changes nothing: a majority's answer is always enough.
func WithFailFast(bool) Option { return OptionFunc(func(*Mutex) {}) }

// WithShufflePools changes nothing: the masters are asked all at once.
func WithShufflePools(bool) Option { return OptionFunc(func(*Mutex) {}) }

// Mutex is a lock on one name. It can be locked and unlocked again and again, by one
// goroutine at a time.
type Mutex struct {
	redsync                    *Redsync
	name                       string
	expiry, delayMin, delayMax time.Duration
	delay                      DelayFunc // nil: between the two
	tries                      int
	driftFactor, timeoutFactor float64

	mu    sync.Mutex
	lease *redlock.Lease // nil: it was never locked
}

// Name is the key on the masters.
func (m *Mutex) Name() string { return m.name }

// Lease is what was locked last: its context ends when the lock is over. It is nil before.
func (m *Mutex) Lease() *redlock.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease
}

// Value is what the masters store: random, and another one for each attempt.
func (m *Mutex) Value() string {
	if l := m.Lease(); l != nil {
		return l.Token()
	}
	return ""
}

// Until is when the lock ends.
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

func (m *Mutex) options() []redlock.Option {
	return []redlock.Option{
		redlock.WithTTL(m.expiry), redlock.WithRetryDelay(m.delayMin, m.delayMax), redlock.WithRetryDelayFunc(m.delay), redlock.WithMaxHold(math.MaxInt64),
		redlock.WithDrift(m.driftFactor, 2*time.Millisecond), redlock.WithTimeout(time.Duration(float64(m.expiry) * m.timeoutFactor)),
	}
}

// Errors, as in redsync. Each is wrapped together with what redlock says, so errors.Is
// and errors.As find either.
var (
	// ErrFailed: the lock was not acquired, in so many tries.
	ErrFailed = errors.New("redsync: failed to acquire lock")
	// ErrExtendFailed: the lock was not extended.
	ErrExtendFailed = errors.New("redsync: failed to extend lock")
	// ErrLockAlreadyExpired: the lock was over before it was released.
	ErrLockAlreadyExpired = errors.New("redsync: failed to unlock, lock was already expired")
)

// ErrNodeTaken is found, as a pointer, for each master that stores somebody else's lock.
type ErrNodeTaken struct{ Node int }

// Error is redsync's.
func (err ErrNodeTaken) Error() string { return fmt.Sprintf("node #%d: taken", err.Node) }

// RedisError is found, as a pointer, for each master that failed.
type RedisError struct {
	Node int
	Err  error
}

// Error is redsync's.
func (err RedisError) Error() string { return fmt.Sprintf("node #%d: %s", err.Node, err.Err) }

// Unwrap returns the master's error.
func (err RedisError) Unwrap() error { return err.Err }

// ErrTaken is found, as a pointer, where somebody else has the lock.
type ErrTaken struct {
	Nodes []int // masters that said so, as far as they were heard
}

// Error is redsync's.
func (err ErrTaken) Error() string { return "lock already taken" }
