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

	"lockpick/redlock/protocol"
)

// Client takes locks on a set of masters. It is safe for concurrent use.
type Client struct {
	masters   protocol.Masters
	n, quorum int
	settings  settings

	busy atomic.Int64    // operations under way, and shut once the client is closed
	idle context.Context // ends when the client is closed and nothing is under way
	rest context.CancelCauseFunc

	mu     sync.Mutex // never held while waiting
	lines  map[string]*line
	tidyAt int // so many of them are tidied up
}

// shut is more than there are ever operations under way.
const shut = 1 << 62

// New makes a Client from go-redis clients, one for each master. Any number from one
// will do: with one, this is the correct lock on a single instance. A client may be a
// *redis.Client, also of a Sentinel (redis.NewFailoverClient), or any other
// redis.UniversalClient whose commands all go to one master: a Cluster or a Ring is an
// error.
//
// The lock sends its commands through your clients, and leaves together what many
// goroutines ask. So their options and hooks hold for the lock, and their pools and
// metrics show it. Only retries are off for its commands. The timeout per master
// (WithTimeout) should be below the clients' ReadTimeout: an answer that comes late tells
// what became of a command. Close the Client before you close them.
//
// Two clients for one server are an error, of New or of the first Lock: that master
// would vote twice.
func New[C redis.UniversalClient](masters []C, opts ...Option) (*Client, error) {
	if len(masters) == 0 {
		return nil, errors.New("redlock: no masters: give New at least one client")
	}
	m, err := newRedisMasters(masters)
	if err != nil {
		return nil, err
	}
	c, err := NewWithMasters(m, opts...)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return c, nil
}

// NewWithMasters makes a Client on masters of another kind, such as simulated ones.
// If they have a Close method, the client's Close calls it.
func NewWithMasters(m protocol.Masters, opts ...Option) (*Client, error) {
	s, err := defaults().with(opts)
	if err != nil {
		return nil, err
	}
	n := len(m.Names())
	if n == 0 {
		return nil, errors.New("redlock: no masters")
	}
	c := &Client{masters: m, n: n, quorum: n/2 + 1, settings: s, lines: map[string]*line{}, tidyAt: tidyLeast}
	if r, ok := m.(*redisMasters); ok {
		r.onSuspect = s.hooks.Suspect
	}
	c.idle, c.rest = s.runtime.WithCancelCause(context.Background())
	return c, nil
}

// Quorum is the number of masters that must agree: ⌊N/2⌋+1.
func (c *Client) Quorum() int { return c.quorum }

// Lock acquires the lock on key. It tries until it succeeds or ctx ends, with a
// random delay between attempts (distlock, "Retry on failure"). Callers of one Client
// who want the same key wait in line, first come, first served, and only the first
// asks the masters. The error is then
// an *Error that wraps ctx's error and why the last attempt that was not cut short
// failed: ErrTaken (also if it was still in line), ErrNoQuorum or ErrExpired (and with
// WithFencing ErrLost). It
// also ends when the client is closed (ErrClosed), and at once, with an error of
// its own, if an option or the key is no good.
//
// The lease does not depend on ctx, which may be cancelled afterwards; it keeps
// ctx's values.
func (c *Client) Lock(ctx context.Context, key string, opts ...Option) (*Lease, error) {
	return c.lock(ctx, nil, key, opts)
}

// TryLock makes one attempt to acquire the lock on key. If it is taken the error
// wraps ErrTaken. Its errors are otherwise those of Lock.
func (c *Client) TryLock(ctx context.Context, key string, opts ...Option) (*Lease, error) {
	s, err := c.begin(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	turn := c.ahead(key)
	lease, failure := c.attempt(ctx, nil, key, 1, turn, s)
	if failure != nil {
		turn.pass()
		return nil, failure
	}
	return lease, nil
}

func (c *Client) lock(ctx, parent context.Context, key string, opts []Option) (*Lease, error) {
	s, err := c.begin(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	turn, err := c.enqueue(ctx, key, s)
	switch {
	case err == ErrClosed:
		return nil, &Error{Op: "lock", Key: key, Kind: ErrClosed}
	case err != nil: // by somebody in this process
		return nil, &Error{Op: "lock", Key: key, Kind: ErrTaken, Context: contextError(ctx)}
	}
	lease, err := c.persist(ctx, parent, key, turn, s)
	if err != nil {
		turn.pass()
	}
	return lease, err
}

// persist makes attempts until one succeeds, or ctx ends, or the client is closed.
func (c *Client) persist(ctx, parent context.Context, key string, turn *turn, s *settings) (*Lease, error) {
	var last *Error // of the latest attempt that ctx did not cut short
	wait := func(number int) error { return s.runtime.Sleep(ctx, s.delay(number)) }
	for number := 1; ; number++ {
		lease, failure := c.attempt(ctx, parent, key, number, turn, s)
		if failure == nil {
			return lease, nil
		}
		if failure.Context == nil || last == nil {
			last = failure
		}
		if failure.Kind == ErrClosed {
			return nil, failure
		}
		if m, ok := c.masters.(protocol.Listener); ok && s.wakeups && number == 1 {
			a := newAlert(s.runtime)
			defer m.Listen(s.stored(key), a.release)()
			wait = func(number int) error { return a.wait(ctx, number, s) }
		}
		if s.maxAttempts > 0 && number >= s.maxAttempts {
			ended := *last
			ended.Attempts, ended.Kind = number, fmt.Errorf("%w: %w", ErrRetryLimit, last.Kind)
			return nil, &ended
		}
		if ctx.Err() != nil || wait(number) != nil {
			ended := *last // the original was given to hooks
			ended.Attempts, ended.Context = number, contextError(ctx)
			return nil, &ended
		}
	}
}

// alert hears of the releases of a key, while its lock is waited for. Of many waiters
// in other processes it wakes a few: if all asked, their SETs would split the votes.
type alert struct {
	id uint64 // random

	mu     sync.Mutex
	heard  bool                    // since the latest attempt began
	rank   int                     // among the waiters, at the release that was heard
	others int                     // waiters, at the latest release
	woken  int                     // attempts that were made when it was heard
	latest string                  // the token of the latest release
	wake   context.CancelCauseFunc // ends the wait; nil: nobody waits
}

func newAlert(r protocol.Runtime) *alert {
	var b [8]byte
	r.Read(b[:])
	return &alert{id: binary.LittleEndian.Uint64(b[:])}
}

// wakeMost is how many waiters a release wakes, on average, wakeApart after each other.
// All waiters together poll once in pollApart, in case that none of these comes.
const (
	wakeMost  = 4
	wakeApart = 2 * time.Millisecond
	pollApart = 25 * time.Millisecond
)

// release is called when a release is heard of, once for each master that announces it.
func (a *alert) release(r protocol.Released) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Token != "" && r.Token == a.latest {
		return
	}
	a.latest, a.others = r.Token, r.Waiters
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, a.id)
	h.Write([]byte(r.Token))
	// The hash is another one for each waiter and each release: so they take turns.
	if a.rank = int(mix(h.Sum64()) % uint64(max(r.Waiters, 1))); a.rank >= wakeMost {
		return
	}
	a.heard = true
	if a.wake != nil {
		a.wake(errHeard)
	}
}

// mix spreads a hash over all its bits (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// wait lets the time between two attempts pass, unless a release is heard of.
func (a *alert) wait(ctx context.Context, number int, s *settings) error {
	listening, wake := s.runtime.WithCancelCause(ctx)
	defer wake(nil)
	a.mu.Lock()
	a.wake = wake
	heard, woken, others := a.heard, a.woken, a.others
	a.mu.Unlock()
	err := errHeard
	if !heard {
		// A waiter that hears of releases need not ask so often.
		polls := s.delay(number) << min(max(number-woken-patience, 0), 3)
		if number-woken > patience {
			polls = max(polls, time.Duration(others)*pollApart)
		}
		err = s.runtime.Sleep(listening, polls)
	}
	if err == errHeard { // so have others
		a.mu.Lock()
		turn := time.Duration(a.rank) * wakeApart
		a.woken = number
		a.mu.Unlock()
		err = s.runtime.Sleep(ctx, turn+between(s.runtime, 0, min(s.retryMin, wakeJitter)))
	}
	a.mu.Lock()
	a.wake, a.heard = nil, false
	a.mu.Unlock()
	return err
}

var errHeard = errors.New("the lock was released")

const (
	patience   = 2 // attempts, before the delays become longer
	wakeJitter = 2 * time.Millisecond
)

// errNotTried is the kind of what was not even begun: ctx had ended before.
var errNotTried = errors.New("not tried")

// begin returns the settings of one call, which never change.
func (c *Client) begin(ctx context.Context, key string, opts []Option) (s *settings, err error) {
	s = &c.settings
	if len(opts) > 0 {
		var own settings
		own, err = s.with(opts)
		own.runtime, own.prefix = s.runtime, s.prefix
		s = &own
	}
	switch {
	case err != nil:
		return s, err
	case key == "":
		return s, errors.New("redlock: the key is empty")
	case ctx.Err() != nil:
		return s, &Error{Op: "lock", Key: key, Kind: errNotTried, Context: contextError(ctx)}
	}
	return s, nil
}

// enter counts an operation in, unless the client is closed. leave must follow.
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

// delay is how long to wait after an attempt that failed. It is drawn anew each time from
// the whole range, so that contenders who collided once do not collide again.
func (s *settings) delay(attempt int) time.Duration {
	if s.retryDelay != nil {
		return max(s.retryDelay(attempt), 0)
	}
	return between(s.runtime, s.retryMin, s.retryMax)
}

// between is a random duration, bounds included.
func between(r protocol.Runtime, least, most time.Duration) time.Duration {
	var b [8]byte
	r.Read(b[:])
	span := uint64(most-least) + 1
	return least + time.Duration(binary.LittleEndian.Uint64(b[:])%span)
}

// Close ends the client. Calls of Lock that wait end with ErrClosed; attempts,
// extensions and releases that are under way are carried through first, each of
// them bounded by the timeouts per master. Leases that are still held are not
// released, and cannot be any more: Unlock them before. Close may be called more
// than once.
func (c *Client) Close() error {
	c.mu.Lock()
	first := !c.closed()
	if first {
		c.busy.Add(shut + 1) // as if one more were under way …
	}
	c.mu.Unlock()
	c.dismiss()
	if first {
		c.leave() // … which ends now
	}
	for c.idle.Err() == nil { // leave ends it
		c.settings.runtime.Sleep(c.idle, time.Hour)
	}
	if m, ok := c.masters.(io.Closer); ok {
		return m.Close()
	}
	return nil
}

// contextError is nil while ctx goes on, then its error, joined with its cause
// where that says more.
func contextError(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
