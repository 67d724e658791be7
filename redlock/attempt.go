package redlock

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"lockpick/redlock/protocol"
)

// attempt makes one attempt to acquire a lock: the five steps of distlock, "The Redlock
// algorithm". parent is the parent of the lease's context; if it is nil, that context has
// the values of ctx but does not end with it. After a failure attempt releases the lock on
// all masters.
func (c *Client) attempt(ctx, parent context.Context, key string, number int, ticket *ticket, s *settings) (*Lease, *Error) {
	if !c.enter() {
		return nil, &Error{Op: "lock", Key: key, Err: ErrClosed, Attempts: number - 1}
	}
	defer c.leave()
	token := newToken(s.runtime)
	conversation := c.masters.Begin(s.hooks.Vote)

	// Step 1: get the time before the first command, on a clock that never steps.
	start := s.runtime.Now()

	// Step 2: send SET NX PX with the same key and token to all masters.
	name := s.stored(key)
	set := setCommand(name, token, s.ttl.Milliseconds(), s.fencing)
	set.Wait = s.wait
	votes := c.vote(ctx, conversation, set, s)
	s.hooks.decided(Set, key, token, votes)

	// Steps 3 and 4: a majority must vote yes before the validity ends.
	until := start.Add(s.validity())
	var elapsed time.Duration
	if s.hooks.Attempt != nil {
		elapsed = s.runtime.Now().Sub(start)
	}
	var fence int64
	err := c.acquireError(ctx, key, votes, until, s)
	if err == nil && s.fencing {
		fence, err = c.fence(ctx, conversation, key, name, token, votes, until, s)
	}
	if err != nil {
		err.Attempts = number
	}
	if s.hooks.Attempt != nil {
		a := Attempt{Key: key, Token: token, Number: number, Elapsed: elapsed, Votes: votes.votes}
		if err != nil {
			a.Err = err
		}
		s.hooks.Attempt(a)
	}
	if err != nil {
		// Step 5: release the lock on all masters. A master that did not vote yes may have
		// stored the key all the same, and its reply may be lost. Wait only until a quorum
		// has answered, so that a hung master does not delay the next attempt.
		c.ask(ctx, conversation, releaseCommand(name, token, false), (*tally).answered, s).free()
	}
	if s.hooks.Attempt == nil { // a hook may keep the votes; err has a copy of them
		votes.free()
	}
	if err != nil {
		return nil, err
	}
	detached := parent == nil
	if detached {
		parent = ctx
	}
	return newLease(c, parent, detached, conversation, key, token, fence, start, until, ticket, s), nil
}

// vote sends SET to the masters and returns their votes, as soon as they decide whether
// there is a quorum.
func (c *Client) vote(ctx context.Context, conversation protocol.Conversation, cmd protocol.Command, s *settings) *tally {
	if !s.sequential {
		return c.ask(ctx, conversation, cmd, (*tally).decided, s)
	}
	// As in distlock's step 2, all masters get the command, whatever the first ones vote.
	t := c.tally()
	for i := 0; i < c.n && ctx.Err() == nil; i++ {
		for v := range conversation.Ask(ctx, cmd, []int{i}, c.perMaster(s)) {
			t.add(v)
		}
	}
	return t
}

// ask sends a command to all masters and counts their votes until enough returns true, all
// masters have voted, or ctx ends. The masters execute the command in any case (see
// Conversation).
func (c *Client) ask(ctx context.Context, conversation protocol.Conversation, cmd protocol.Command, enough func(*tally) bool, s *settings) *tally {
	return c.askAndPass(ctx, conversation, cmd, nil, enough, s)
}

// askAndPass is ask for the release of a lease: it passes ticket as soon as the SET of the
// next waiter cannot overtake the release. A conversation that is not protocol.Orderly does not
// tell when that is, and the caller passes the ticket after the votes.
func (c *Client) askAndPass(ctx context.Context, conversation protocol.Conversation, cmd protocol.Command, ticket protocol.Ticket, enough func(*tally) bool, s *settings) *tally {
	t := c.tally()
	t.enough = enough
	if o, ok := conversation.(protocol.Orderly); ok {
		o.Count(ctx, cmd, c.perMaster(s), ticket, t)
		return t
	}
	conversation.Ask(ctx, cmd, nil, c.perMaster(s))(t.Count)
	return t
}

// tally returns an empty tally, from the memory of a freed one if there is one.
func (c *Client) tally() *tally {
	t, _ := tallies.Get().(*tally)
	if t == nil {
		t = &tally{votes: make([]Vote, 0, c.n)}
	}
	t.masters, t.quorum = c.n, c.quorum
	return t
}

// free reuses the tally's memory. No reference to its votes may exist any more.
func (t *tally) free() {
	clear(t.votes)
	*t = tally{votes: t.votes[:0]}
	tallies.Put(t)
}

var tallies sync.Pool

// perMaster returns the timeout for one master's reply: that of WithTimeout, or the default,
// which allows for roundTrips round trips to the slowest master, up to TTL/4.
func (c *Client) perMaster(s *settings) time.Duration {
	d := s.perMaster()
	if m, ok := c.masters.(protocol.Meter); ok && s.timeout == 0 {
		d = max(d, min(roundTrips*m.RoundTrip(), s.ttl/4))
	}
	return d
}

// roundTrips is the least number of round trips in the default timeout: one for the pipeline
// in flight, for which a command can wait, one for the command itself, and two as a reserve.
const roundTrips = 4

// acquireError decides steps 3 and 4: it returns nil if a quorum voted yes and the lease is
// still valid, otherwise the reason why not.
func (c *Client) acquireError(ctx context.Context, key string, votes *tally, until time.Time, s *settings) *Error {
	fail := func(kind error) *Error {
		return &Error{Op: "lock", Key: key, Err: kind, Votes: slices.Clone(votes.votes), Context: contextError(ctx)}
	}
	switch {
	case votes.won() && s.runtime.Now().Before(until):
		return nil
	case votes.won():
		return fail(ErrExpired)
	case votes.unreachable() || !votes.lost():
		return fail(ErrNoQuorum)
	default:
		return fail(ErrTaken)
	}
}

// fence returns the fencing token: the highest counter that a master returned, after that
// counter was written back to a quorum of the masters that store the lease's key.
//
// Without the write-back tokens can decrease: if the counters of three masters are 5, 0
// and 0, a client that wins the first two masters gets 6, and the next one, which wins the
// last two, gets 2.
//
// With the write-back they increase. Let lease A end before lease B begins. Both have a
// quorum, so at least one master wrote back A's token and incremented its counter for B.
// It wrote back A's token while its key stored A, and incremented for B when B's SET NX
// found no key. If the increment for B had come first, B's key would have been gone again
// before A's SET NX succeeded, so B would have ended before A began. So the write-back came
// first, the counter for B was greater than A's token, and B's token is at least that
// counter.
func (c *Client) fence(ctx context.Context, conversation protocol.Conversation, key, name, token string, votes *tally, until time.Time, s *settings) (int64, *Error) {
	var highest int64
	for _, v := range votes.votes {
		highest = max(highest, v.Reply)
	}
	back := c.ask(ctx, conversation, writeBackCommand(name, token, highest), (*tally).decided, s)
	err := c.acquireError(ctx, key, back, until, s)
	if err != nil && errors.Is(err, ErrTaken) {
		err.Err = ErrLost // these masters have just voted yes
	}
	return highest, err
}

// newToken returns 20 random bytes, as distlock proposes, as hexadecimal digits. Each
// attempt has a token of its own: otherwise the release of a failed attempt could delete
// the key of the next one.
func newToken(r protocol.Runtime) string {
	b := digits.Get().(*[60]byte) // 20 random bytes, then their 40 digits
	defer digits.Put(b)
	r.Read(b[:20])
	hex.Encode(b[20:], b[:20])
	return string(b[20:])
}

var digits = sync.Pool{New: func() any { return new([60]byte) }}
