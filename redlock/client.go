package redlock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client takes locks on a set of masters. It is safe for concurrent use.
type Client struct {
	masters   Masters
	n, quorum int
	settings  settings

	mu     sync.Mutex // never held while waiting
	busy   int        // operations under way
	closed bool
	idle   context.Context // ends when the client is closed and nothing is under way
	rest   context.CancelCauseFunc
}

// New makes a Client from go-redis clients, one for each master. Any number from
// one will do: with one, this is the correct lock on a single instance.
//
// New leaves your clients alone and makes its own from their options: addresses,
// TLS, credentials, Dialer, OnConnect, Limiter and the rest hold for the lock too,
// hooks that were added with AddHook do not. It changes what a lock's correctness
// hangs on: no command is sent twice behind the lock's back (MaxRetries), the
// timeout per master rules every socket operation (ReadTimeout, WriteTimeout,
// ContextTimeoutEnabled), and a hung or dead master neither blocks nor stays
// hidden once it is back (DialTimeout, DialerRetries, PoolSize). Close closes the
// lock's clients; yours may be closed as soon as New has returned.
//
// Two clients for one address and database are an error: that master would vote
// twice.
func New(masters []*redis.Client, opts ...Option) (*Client, error) {
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
func NewWithMasters(m Masters, opts ...Option) (*Client, error) {
	s, err := defaults().with(opts)
	if err != nil {
		return nil, err
	}
	n := len(m.Names())
	if n == 0 {
		return nil, errors.New("redlock: no masters")
	}
	c := &Client{masters: m, n: n, quorum: n/2 + 1, settings: s}
	c.idle, c.rest = s.runtime.WithCancelCause(context.Background())
	return c, nil
}

// Quorum is the number of masters that must agree: ⌊N/2⌋+1.
func (c *Client) Quorum() int { return c.quorum }

// Lock acquires the lock on key. It tries until it succeeds or ctx ends, with a
// random delay between attempts (distlock, "Retry on failure"). The error is then
// an *Error that wraps ctx's error and why the last attempt that was not cut short
// failed: ErrTaken, ErrNoQuorum or ErrExpired (and with WithFencing ErrLost). It
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
	lease, failure := c.attempt(ctx, nil, key, 1, s)
	if failure != nil {
		return nil, failure
	}
	return lease, nil
}

func (c *Client) lock(ctx, parent context.Context, key string, opts []Option) (*Lease, error) {
	s, err := c.begin(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	var last *Error // of the latest attempt that ctx did not cut short
	for number := 1; ; number++ {
		lease, failure := c.attempt(ctx, parent, key, number, s)
		if failure == nil {
			return lease, nil
		}
		if failure.Context == nil || last == nil {
			last = failure
		}
		if failure.Kind == ErrClosed {
			return nil, failure
		}
		if ctx.Err() != nil || s.runtime.Sleep(ctx, retryDelay(s)) != nil {
			ended := *last // the original was given to hooks
			ended.Attempts, ended.Context = number, contextError(ctx)
			return nil, &ended
		}
	}
}

// errNotTried is the kind of what was not even begun: ctx had ended before.
var errNotTried = errors.New("not tried")

// begin returns the settings of one call, which never change.
func (c *Client) begin(ctx context.Context, key string, opts []Option) (s *settings, err error) {
	s = &c.settings
	if len(opts) > 0 {
		var own settings
		own, err = s.with(opts)
		own.runtime = s.runtime
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.busy++
	return true
}

func (c *Client) leave() {
	c.mu.Lock()
	c.busy--
	drained := c.closed && c.busy == 0
	c.mu.Unlock()
	if drained {
		c.rest(ErrClosed)
	}
}

// retryDelay is drawn anew each time from the whole range, so that contenders
// who collided once do not collide again.
func retryDelay(s *settings) time.Duration {
	var b [8]byte
	s.runtime.Read(b[:])
	span := uint64(s.retryMax-s.retryMin) + 1
	return s.retryMin + time.Duration(binary.LittleEndian.Uint64(b[:])%span)
}

// Close ends the client. Calls of Lock that wait end with ErrClosed; attempts,
// extensions and releases that are under way are carried through first, each of
// them bounded by the timeouts per master. Leases that are still held are not
// released, and cannot be any more: Unlock them before. Close may be called more
// than once.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	drained := c.busy == 0
	c.mu.Unlock()
	if drained {
		c.rest(ErrClosed)
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
