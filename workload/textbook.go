package workload

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"lockpick/history"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// textbook is Redlock as the page "Distributed Locks with Redis" describes it (called distlock
// in comments), without additions. It exists for planted bugs, which mutations describes.
type textbook struct {
	env       Env
	mutations mutations
	masters   protocol.Masters
	n         int
	life      context.Context // ends with Close, so that renewals end with their process
	end       context.CancelCauseFunc

	mu       sync.Mutex // guards the fields below; never held while waiting
	prepared bool
	id       string                    // of a re-entrant lock: what tells it from that of an earlier life of its client
	tokens   map[string]string         // by key, the token of the latest lease
	reusable map[string]*textbookLease // by key, a lease whose release was cancelled
	dropped  []int                     // masters that are not asked any more
	waiters  map[string]int            // by key, the number of the latest acquire
	locked   map[string]bool           // the keys whose local mutex is locked
}

func newTextbook(s Env, r mutations) (Lock, error) {
	l := &textbook{env: s, mutations: r, tokens: map[string]string{}, reusable: map[string]*textbookLease{}, waiters: map[string]int{}, locked: map[string]bool{}}
	var err error
	if l.masters, err = s.masters(); err != nil {
		return nil, err
	}
	if l.n = len(l.masters.Names()); l.n == 0 {
		return nil, errors.New("no masters: give the lock at least one")
	}
	l.life, l.end = s.Runtime.WithCancelCause(context.Background())
	return l, nil
}

// masters returns the masters of the environment: those that it contains, or Redis servers
// through go-redis.
func (s Env) masters() (protocol.Masters, error) {
	if s.Masters != nil {
		return s.Masters, nil
	}
	clients, hangUp, err := s.dial()
	if err != nil {
		return nil, err
	}
	m, err := redlock.NewMasters(clients)
	if err != nil {
		return nil, errors.Join(err, hangUp())
	}
	return dialled{m, hangUp}, nil
}

// dialled holds masters that are closed together with their connections.
type dialled struct {
	protocol.Masters
	hangUp func() error
}

func (d dialled) Close() error {
	err := d.Masters.(io.Closer).Close()
	return errors.Join(err, d.hangUp())
}

// Kill ends the lock's background work, as the end of its process would.
func (l *textbook) Kill() { l.end(redlock.ErrClosed) }

func (l *textbook) Close() error {
	l.end(redlock.ErrClosed)
	if c, ok := l.masters.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Acquire retries until it succeeds or ctx ends, with a random delay between attempts
// (distlock, "Retry on failure").
func (l *textbook) Acquire(ctx context.Context, key string) (Lease, error) {
	return l.AcquireShare(ctx, key, Share{})
}

// AcquireShare does the same for a part of a lock that has parts.
func (l *textbook) AcquireShare(ctx context.Context, key string, share Share) (Lease, error) {
	if l.mutations.shared != nil {
		share.owner = l.ownerIn(ctx)
	}
	acquire := l.acquire
	switch {
	case l.mutations.abandons:
		acquire = l.acquireApart
	case l.mutations.locksLocal:
		acquire = l.acquireAlone
	}
	return acquire(ctx, key, func(talk protocol.Conversation, token, place string, start time.Time) (Lease, error) {
		x, err := l.attempt(ctx, talk, key, token, place, share, start)
		if err != nil {
			return nil, err
		}
		return x.shown(), nil
	})
}

// attempt is one attempt of an acquire that began at start. place is its place in the queue, if the lock has one.
type attempt func(talk protocol.Conversation, token, place string, start time.Time) (Lease, error)

// acquire makes attempts until one succeeds or ctx ends.
func (l *textbook) acquire(ctx context.Context, key string, try attempt) (Lease, error) {
	l.prepare(ctx)
	if x := l.reuse(key); x != nil {
		return x.shown(), nil
	}
	begun, token := l.clock(), l.token()
	waiter := token // its place in the queue, if the lock has one
	tried := false
	number := l.latest(key)
	for {
		start := l.clock() // step 1
		if l.mutations.oneStart {
			start = begun
		}
		if !l.mutations.once {
			token = l.token()
		}
		talk := l.masters.Begin(l.env.Hooks.Vote)
		place := waiter
		if l.mutations.barges && !tried {
			place = ""
		}
		tried = true
		lease, err := try(talk, token, place, start)
		if err == nil {
			return lease, nil
		}
		if errors.Is(err, ErrGone) {
			return nil, err
		}
		if l.mutations.fair && !l.pass(BetweenCommands, key) {
			return nil, ErrGone // the client ends in the queue
		}
		if ctx.Err() == nil {
			pause := l.delay()
			if l.mutations.oneWaiter && l.overwritten(key, number) {
				pause = l.env.TTL
			}
			_ = l.env.Runtime.Sleep(ctx, pause)
		}
		if ctx.Err() != nil && l.mutations.fair {
			l.leaveQueue(ctx, talk, key, waiter)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// prepare runs once, when a client starts.
func (l *textbook) prepare(ctx context.Context) {
	l.mu.Lock()
	prepared := l.prepared
	l.prepared = true
	l.mu.Unlock()
	if !l.mutations.loads || prepared {
		return
	}
	cmd := protocol.Command{Purpose: load, Args: []any{"script", "load", DeleteByHash.Text}}
	l.ask(ctx, l.masters.Begin(func(protocol.Vote) {}), cmd, nil, func(*tally) bool { return false })
}

// attempt performs steps 2 to 5.
func (l *textbook) attempt(ctx context.Context, talk protocol.Conversation, key, token, waiter string, share Share, start time.Time) (*textbookLease, error) {
	// Step 2: send the same key and token to all masters.
	t, err := l.carryOut(ctx, talk, key, token, l.setCommands(key, token, waiter, share), nil, l.enough)
	if err != nil {
		return nil, err
	}
	if l.env.Hooks.Decided != nil {
		l.env.Hooks.Decided(redlock.Decision{Purpose: protocol.Set, Key: key, Token: token, Yes: len(t.yes), Quorum: l.quorum(t)})
	}

	// Steps 3 and 4: there must be a quorum and remaining validity.
	if l.mutations.lateStart {
		start = l.clock()
	}
	left := l.validity() - l.clock().Sub(start)
	if err = l.judge(t, left); err == nil && l.env.Fencing && !l.mutations.noWriteBack {
		var back tally
		if back, err = l.carryOut(ctx, talk, key, token, raise(key, token, t.highest), nil, l.enough); err == nil {
			left = l.validity() - l.clock().Sub(start)
			err = l.judge(back, left)
		}
	}
	if err == nil && l.mutations.resets {
		if left, err = l.reset(ctx, talk, key, token); errors.Is(err, ErrGone) {
			return nil, err
		}
	}
	if err == nil {
		return l.grant(talk, key, token, share, t, left), nil
	}

	// Step 5: release on all masters, also on those that did not vote yes.
	if !l.mutations.noRollback && !(l.mutations.raises && t.err != nil) && !(l.mutations.unlessRefused && len(t.no) == l.n) {
		_, _ = l.releaseAll(ctx, talk, key, token, share, t.yes, l.answered)
	}
	return nil, err
}

// reset gives all keys and the lease a new TTL.
func (l *textbook) reset(ctx context.Context, talk protocol.Conversation, key, token string) (time.Duration, error) {
	if !l.pass(BetweenCommands, key) {
		return 0, ErrGone
	}
	start := l.clock()
	_, err := l.carryOut(ctx, talk, key, token, []command{{purpose: protocol.Extend, args: []any{"pexpire", key, l.env.TTL.Milliseconds()}, ttl: l.env.TTL}}, nil, l.settled)
	return l.env.TTL - l.clock().Sub(start), err
}

// judge performs steps 3 and 4: it returns nil if the votes and the remaining time make a
// lease.
func (l *textbook) judge(t tally, left time.Duration) error {
	switch {
	case l.mutations.raises && t.err != nil:
		return t.err
	case len(t.yes) < l.quorum(t) && len(t.no)+len(t.yes) < l.quorum(t):
		return fmt.Errorf("%w: %d yes, %d no, %d failed", redlock.ErrNoQuorum, len(t.yes), len(t.no), len(t.failed))
	case len(t.yes) < l.quorum(t):
		return fmt.Errorf("%w: %d yes, %d no, %d failed", redlock.ErrTaken, len(t.yes), len(t.no), len(t.failed))
	case left <= 0 && !l.mutations.noValidity:
		return redlock.ErrExpired
	}
	return nil
}

// validity returns how long a lease is valid from its start: less than the TTL of its keys,
// because clocks run at different rates (distlock, CLOCK_DRIFT).
func (l *textbook) validity() time.Duration {
	switch {
	case l.mutations.forever:
		return history.Endless
	case l.mutations.noDrift:
		return l.env.TTL
	}
	return l.env.TTL - l.env.TTL/100 - 2*time.Millisecond
}

// quorum returns how many masters must agree.
func (l *textbook) quorum(t tally) int {
	n := l.n
	if l.mutations.reachable {
		n -= len(t.failed)
	}
	if l.mutations.quorum != nil {
		return l.mutations.quorum(n)
	}
	return n/2 + 1
}

// clock returns the time. Only differences of such times have a meaning.
func (l *textbook) clock() time.Time {
	if l.mutations.wallClock {
		return l.env.Wall()
	}
	return l.env.Runtime.Now()
}

// token returns a new token for each attempt. With one token for all attempts, the release of
// the first one could delete the key of the second.
func (l *textbook) token() string {
	if l.mutations.token != nil {
		return l.mutations.token(l)
	}
	var b [20]byte
	l.env.Runtime.Read(b[:])
	return hex.EncodeToString(b[:])
}

// These constants limit the delay between attempts.
const (
	delayMin = 20 * time.Millisecond
	delayMax = 120 * time.Millisecond
)

func (l *textbook) delay() time.Duration {
	switch {
	case l.mutations.oversleeps && l.random(2) == 0:
		return l.env.TTL
	case l.mutations.fixedDelay:
		return (delayMin + delayMax) / 2
	case l.mutations.noDelay:
		return 0
	}
	return delayMin + time.Duration(l.random(uint64(delayMax-delayMin)+1))
}

// random returns a number below n.
func (l *textbook) random(n uint64) uint64 {
	var b [8]byte
	l.env.Runtime.Read(b[:])
	return binary.LittleEndian.Uint64(b[:]) % n
}
