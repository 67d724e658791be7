package redlock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/internal/transport"
	"lockpick/redlock/protocol"
)

// Client acquires locks on a set of masters. It is safe for concurrent use.
type Client struct {
	masters   protocol.Masters
	n, quorum int
	settings  settings

	busy atomic.Int64    // operations that have not ended, plus shut once the client is closed
	idle context.Context // ends when the client is closed and all operations have ended
	rest context.CancelCauseFunc

	mu      sync.Mutex // never held while waiting
	queues  map[string]*waitQueue
	sweepAt int // number of queues at which sweepQueues runs
}

// shut is greater than any number of concurrent operations.
const shut = 1 << 62

// New makes a Client from go-redis clients, one for each master. There must be at least
// one; with one, this is distlock's lock on a single instance. A client can be any
// redis.UniversalClient whose commands all go to one master: a *redis.Client, including
// one from redis.NewFailoverClient. A *redis.ClusterClient or a *redis.Ring is an error.
//
// The lock sends its commands through these clients, and puts the commands of many
// goroutines into one pipeline. So the options, hooks, pools and metrics of the clients
// apply to the lock. Only retries are off for its commands. WithTimeout should be shorter
// than the clients' ReadTimeout, because a late reply still tells whether the command was
// executed. Close the Client before the go-redis clients, which Close leaves open.
//
// New fails if two clients are the same or have the same address and database: that master
// would vote twice. If two addresses lead to one server, the Client notices when it sends
// commands: it compares the servers' run_id (INFO server, if the user may run it), and the
// votes of the second master are then errors.
//
// New returns an error, and no Client, if a master or an option is invalid. It sends no
// commands: see Connect.
func New[C redis.UniversalClient](masters []C, opts ...Option) (*Client, error) {
	if len(masters) == 0 {
		return nil, errors.New("redlock: no masters: give New at least one client")
	}
	m, err := transport.New(masters, ErrClosed)
	if err != nil {
		return nil, err
	}
	c, err := NewWithMasters(m, opts...)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return c, nil
}

// NewMasters makes the Masters that New uses, for a lock that follows other rules. They
// implement io.Closer. The errors are those of New about masters.
func NewMasters[C redis.UniversalClient](masters []C) (protocol.Masters, error) {
	m, err := transport.New(masters, ErrClosed)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// NewWithMasters makes a Client on masters that are not go-redis clients, such as simulated
// ones. If m implements io.Closer, the Client's Close calls m.Close. The errors are those
// of New.
func NewWithMasters(m protocol.Masters, opts ...Option) (*Client, error) {
	s, err := with(defaults(), opts)
	if err != nil {
		return nil, err
	}
	n := len(m.Names())
	if n == 0 {
		return nil, errors.New("redlock: no masters")
	}
	c := &Client{masters: m, n: n, quorum: n/2 + 1, settings: s, queues: map[string]*waitQueue{}, sweepAt: minSweep}
	if watched, ok := m.(protocol.Monitor); ok && s.suspect != nil {
		watched.OnSuspect(s.suspect)
	}
	c.idle, c.rest = s.runtime.WithCancelCause(context.Background())
	return c, nil
}

// Quorum returns the number of masters that must agree, ⌊N/2⌋+1 of N.
func (c *Client) Quorum() int { return c.quorum }

// Lock acquires the lock on key. It retries until it succeeds or ctx ends, with a random
// delay between attempts (distlock, "Retry on failure"; WithRetryDelay). Callers of one
// Client that wait for the same key form a queue, first come, first served: only the first
// one makes attempts.
//
// Lock fails with an *Error if
//
//   - ctx ends: it wraps the error of ctx, and the reason why the last attempt that ctx did
//     not interrupt failed: ErrTaken (also if the call was still in the queue),
//     ErrNoQuorum or ErrExpired, and with WithFencing also ErrLost;
//   - all attempts that WithMaxAttempts allows were made: ErrRetryLimit and the reason of
//     the last one;
//   - the Client is closed: ErrClosed.
//
// An invalid option and an empty key are errors of other types.
//
// The context of the lease does not end when ctx does, but has its values.
func (c *Client) Lock(ctx context.Context, key string, opts ...CallOption) (*Lease, error) {
	return c.lock(ctx, nil, key, opts)
}

// TryLock makes one attempt to acquire the lock on key, without waiting in the queue of
// Lock. It fails with an *Error that wraps ErrTaken, ErrNoQuorum, ErrExpired or ErrClosed,
// and with WithFencing also ErrLost. An invalid option and an empty key are errors of
// other types.
func (c *Client) TryLock(ctx context.Context, key string, opts ...CallOption) (*Lease, error) {
	s, err := c.begin(ctx, "lock", key, opts)
	if err != nil {
		return nil, err
	}
	ticket := c.tryEnqueue(key)
	lease, failure := c.attempt(ctx, nil, key, 1, ticket, s)
	if failure != nil {
		ticket.Pass()
		return nil, failure
	}
	return lease, nil
}

func (c *Client) lock(ctx, parent context.Context, key string, opts []CallOption) (*Lease, error) {
	s, err := c.begin(ctx, "lock", key, opts)
	if err != nil {
		return nil, err
	}
	ticket, err := c.enqueue(ctx, key, s)
	switch {
	case err == ErrClosed:
		return nil, &Error{Op: "lock", Key: key, Err: ErrClosed}
	case err != nil: // ctx ended while another caller of this Client was ahead in the queue
		return nil, &Error{Op: "lock", Key: key, Err: ErrTaken, Context: contextError(ctx)}
	}
	lease, err := c.persist(ctx, parent, key, ticket, s)
	if err != nil {
		ticket.Pass()
	}
	return lease, err
}

// persist makes attempts until one succeeds, ctx ends, the limit of attempts is reached,
// or the client is closed.
func (c *Client) persist(ctx, parent context.Context, key string, ticket *ticket, s *settings) (*Lease, error) {
	var last *Error // of the latest attempt that ctx did not interrupt
	wait := func(number int) error { return s.runtime.Sleep(ctx, s.delay(number)) }
	for number := 1; ; number++ {
		lease, failure := c.attempt(ctx, parent, key, number, ticket, s)
		if failure == nil {
			return lease, nil
		}
		if failure.Context == nil || last == nil {
			last = failure
		}
		if failure.Err == ErrClosed {
			return nil, failure
		}
		if m, ok := c.masters.(protocol.Listener); ok && s.wakeups && number == 1 {
			a := newAlert(s.runtime)
			defer m.Listen(s.stored(key), a.release)()
			wait = func(number int) error { return a.wait(ctx, number, s) }
		}
		if s.maxAttempts > 0 && number >= s.maxAttempts {
			ended := *last
			ended.Attempts, ended.Err = number, fmt.Errorf("%w: %w", ErrRetryLimit, last.Err)
			return nil, &ended
		}
		if ctx.Err() != nil || wait(number) != nil {
			ended := *last // a copy: hooks were given the original
			ended.Attempts, ended.Context = number, contextError(ctx)
			return nil, &ended
		}
	}
}

// alert wakes a Lock that waits for a key when the key is released. After a release only a
// few of the waiters in all processes try, one after the other: if all of them made an
// attempt at once, their SETs would split the votes.
type alert struct {
	runtime protocol.Runtime
	id      uint64 // random

	mu     sync.Mutex
	at     time.Time               // time of the attempt that the latest release causes; zero: other waiters try
	others int                     // number of waiters, at the latest release
	woken  int                     // number of the attempt that failed before the latest wake-up by a release
	latest string                  // the token of the latest release
	wake   context.CancelCauseFunc // makes wait read at again; nil: the Lock is not waiting
}

func newAlert(r protocol.Runtime) *alert {
	var b [8]byte
	r.Read(b[:])
	return &alert{runtime: r, id: binary.LittleEndian.Uint64(b[:])}
}

const (
	// wakeMost limits the turns after a release, and wakeApart is the time between two of
	// them. Each turn goes to one waiter on average. The later turns are for the case that
	// no waiter gets the first one; if a waiter does, its release cancels them.
	wakeMost  = 3
	wakeApart = 10 * time.Millisecond
	// wakeJitter bounds the random delay within a turn, in case several waiters have the
	// same one.
	wakeJitter = time.Millisecond
	// pollApart is the average time between two polls, counted over all waiters. Waiters
	// poll because messages can be lost, and because a release may give no waiter a turn.
	pollApart = 25 * time.Millisecond
	// fastPolls is the number of attempts after a wake-up before polls become slower.
	fastPolls = 2
)

// release records a release. Each master that announces the release calls it once.
func (a *alert) release(r protocol.Released) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Token != "" && r.Token == a.latest {
		return
	}
	// The hash differs for each waiter and each release, so the waiters take turns.
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, a.id)
	h.Write([]byte(r.Token))
	hash := mix(h.Sum64())
	before := a.at
	a.latest, a.others, a.at = r.Token, r.Waiters, time.Time{}
	if turn := hash % uint64(max(r.Waiters, 1)); turn < wakeMost {
		a.at = a.runtime.Now().Add(time.Duration(turn)*wakeApart + time.Duration(hash>>32)%wakeJitter)
	}
	if a.wake != nil && a.at != before {
		a.wake(errReleaseHeard)
	}
}

// mix spreads a hash over all its bits (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// wait returns after the delay between two attempts, or earlier if it is this waiter's turn
// after a release.
func (a *alert) wait(ctx context.Context, number int, s *settings) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	// A waiter that is notified of releases can poll less often.
	poll := s.delay(number) << min(max(number-a.woken-fastPolls, 0), 3)
	if number-a.woken > fastPolls {
		poll = max(poll, time.Duration(a.others)*pollApart)
	}
	pollAt := a.runtime.Now().Add(poll)
	for err := errReleaseHeard; err == errReleaseHeard; {
		until := pollAt
		if !a.at.IsZero() && a.at.Before(until) {
			until = a.at
		}
		listening, wake := a.runtime.WithCancelCause(ctx)
		a.wake = wake
		a.mu.Unlock()
		err = a.runtime.Sleep(listening, max(until.Sub(a.runtime.Now()), 0))
		wake(nil)
		a.mu.Lock()
		if a.wake = nil; err != nil && err != errReleaseHeard {
			return err
		}
	}
	if !a.at.IsZero() && !a.runtime.Now().Before(a.at) {
		a.at, a.woken = time.Time{}, number
	}
	return nil
}

// errReleaseHeard wakes wait when a master has announced a release.
var errReleaseHeard = errors.New("the lock was released")

// errNotTried is the Err of a call whose context had ended before it began.
var errNotTried = errors.New("not tried")

// begin checks a call's arguments and returns its settings, which do not change after
// that. op is the Op of the error if ctx has ended.
func (c *Client) begin(ctx context.Context, op, key string, opts []CallOption) (s *settings, err error) {
	s = &c.settings
	if len(opts) > 0 {
		var own settings
		own, err = with(*s, opts)
		s = &own
	}
	switch {
	case err != nil:
		return s, err
	case key == "":
		return s, errors.New("redlock: the key is empty")
	case ctx.Err() != nil:
		return s, &Error{Op: op, Key: key, Err: errNotTried, Context: contextError(ctx)}
	}
	return s, nil
}

// enter begins an operation, and returns false if the client is closed. If it returns true,
// the caller must call leave.
func (c *Client) enter() bool {
	if c.busy.Add(1) < shut {
		return true
	}
	c.leave()
	return false
}

func (c *Client) leave() {
	if c.busy.Add(-1) == shut {
		c.rest(ErrClosed)
	}
}

func (c *Client) closed() bool { return c.busy.Load() >= shut }

// delay returns how long to wait after a failed attempt. It is random and independent of
// earlier delays, so that clients that split the votes once do not split them again.
func (s *settings) delay(attempt int) time.Duration {
	if s.retryDelay != nil {
		return max(s.retryDelay(attempt), 0)
	}
	return between(s.runtime, s.retryMin, s.retryMax)
}

// between returns a random duration from least to most, both included.
func between(r protocol.Runtime, least, most time.Duration) time.Duration {
	var b [8]byte
	r.Read(b[:])
	span := uint64(most-least) + 1
	return least + time.Duration(binary.LittleEndian.Uint64(b[:])%span)
}

// Close closes the Client. Waiting calls of Lock return ErrClosed. Close first waits for
// the attempts, extensions and releases that have begun, up to their timeouts per master.
// It does not release leases, and afterwards Unlock cannot release them either: their keys
// expire with their TTL. Close does not close the go-redis clients. It returns the error of
// the Close method of masters that do not come from New, otherwise nil. Close may be called
// more than once.
func (c *Client) Close() error {
	c.mu.Lock()
	first := !c.closed()
	if first {
		c.busy.Add(shut + 1) // one more operation …
	}
	c.mu.Unlock()
	c.closeQueues()
	if first {
		c.leave() // … which ends now
	}
	for c.idle.Err() == nil { // the last leave ends idle
		c.settings.runtime.Sleep(c.idle, time.Hour)
	}
	if m, ok := c.masters.(io.Closer); ok {
		return m.Close()
	}
	return nil
}

// contextError returns nil until ctx ends, then its error, together with its cause if that
// is another error.
func contextError(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
