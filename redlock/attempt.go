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

// attempt makes one attempt to acquire a lock: distlock's five steps. parent is
// what the lease's context descends from; nil: of ctx only the values. After any
// failure the lock is released on all masters.
func (c *Client) attempt(ctx, parent context.Context, key string, number int, turn *turn, s *settings) (*Lease, *Error) {
	if !c.enter() {
		return nil, &Error{Op: "lock", Key: key, Kind: ErrClosed, Attempts: number - 1}
	}
	defer c.leave()
	token := newToken(s.runtime)
	talk := c.masters.Begin(s.hooks.Vote)

	// Step 1: the time before the first command, on a clock that never steps.
	start := s.runtime.Now()

	// Step 2: SET NX PX with the same key and token on all masters.
	name := s.stored(key)
	set := setCommand(name, token, s.ttl.Milliseconds(), s.fencing)
	set.Wait = s.wait
	votes := c.vote(ctx, talk, set, s)
	s.hooks.decided(Set, key, token, votes)

	// Steps 3 and 4: a majority, within the validity that is left.
	until := start.Add(s.validity())
	var elapsed time.Duration
	if s.hooks.Attempt != nil {
		elapsed = s.runtime.Now().Sub(start)
	}
	var fence int64
	err := c.acquireError(ctx, key, votes, until, s)
	if err == nil && s.fencing {
		fence, err = c.fence(ctx, talk, key, name, token, votes, until, s)
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
		// Step 5: release on all masters, also on those that did not vote for us:
		// their reply may be what was lost.
		// It is enough to hear that a quorum got it: the others get it too, and a
		// hung master must not hold up the next attempt.
		c.ask(ctx, talk, releaseCommand(name, token, false), (*tally).answered, s)
		return nil, err
	}
	if s.hooks.Attempt == nil {
		votes.free()
	}
	detached := parent == nil
	if detached {
		parent = ctx
	}
	return newLease(c, parent, detached, talk, key, token, fence, start, until, turn, s), nil
}

// vote has the masters vote on SET until they have decided, one way or the other.
func (c *Client) vote(ctx context.Context, talk protocol.Conversation, cmd protocol.Command, s *settings) *tally {
	if !s.sequential {
		return c.ask(ctx, talk, cmd, (*tally).decided, s)
	}
	// The first text of the algorithm tries all masters, whatever the first ones say.
	t := c.tally()
	for i := 0; i < c.n && ctx.Err() == nil; i++ {
		for v := range talk.Ask(ctx, cmd, []int{i}, c.perMaster(s)) {
			t.add(v)
		}
	}
	return t
}

// ask sends a command to all masters and takes their votes until they are enough,
// or all are in, or ctx ends, which ends only the waiting: the commands are
// carried through (see Conversation).
func (c *Client) ask(ctx context.Context, talk protocol.Conversation, cmd protocol.Command, enough func(*tally) bool, s *settings) *tally {
	t := c.tally()
	if redis, ok := talk.(*session); ok { // the same, with less memory
		redis.ask(ctx, &cmd, nil, c.perMaster(s), func(c *pendingCommand) bool {
			t.add(c.vote())
			return !enough(t)
		})
		return t
	}
	askOther(ctx, talk, cmd, c.perMaster(s), t, enough)
	return t
}

func askOther(ctx context.Context, talk protocol.Conversation, cmd protocol.Command, timeout time.Duration, t *tally, enough func(*tally) bool) {
	for v := range talk.Ask(ctx, cmd, nil, timeout) {
		if t.add(v); enough(t) {
			return
		}
	}
}

func (c *Client) tally() *tally {
	t, _ := tallies.Get().(*tally)
	if t == nil {
		t = &tally{votes: make([]Vote, 0, c.n)}
	}
	t.masters, t.quorum = c.n, c.quorum
	return t
}

// free keeps the tally's memory for another one. Nobody may have its votes.
func (t *tally) free() {
	clear(t.votes)
	*t = tally{votes: t.votes[:0]}
	tallies.Put(t)
}

var tallies sync.Pool

// perMaster is the timeout for one master's reply: the option's, or what follows from
// the TTL, or longer where the masters are so far away that none could reply in time.
func (c *Client) perMaster(s *settings) time.Duration {
	d := s.perMaster()
	if m, ok := c.masters.(interface{ roundTrip() time.Duration }); ok && s.timeout == 0 {
		d = max(d, min(roundTrips*m.roundTrip(), s.ttl/4))
	}
	return d
}

// roundTrips is how many round trips a master has by default.
const roundTrips = 4

// acquireError is steps 3 and 4: nil if the votes make a lease that is still valid.
func (c *Client) acquireError(ctx context.Context, key string, votes *tally, until time.Time, s *settings) *Error {
	fail := func(kind error) *Error {
		return &Error{Op: "lock", Key: key, Kind: kind, Votes: slices.Clone(votes.votes), Context: contextError(ctx)}
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

// fence returns the fencing token: the highest counter that a master gave, after
// it was written back to a quorum of masters that hold the lock.
//
// Without the writing back, counters of 5, 0, 0 on three masters would give 6 to
// who wins the first and the second, and then 2 to who wins the second and the
// third. With it tokens grow from lease to lease. Let lease A come before lease B:
// each has a quorum, so some master both wrote back for A and was counted for B.
// It wrote back only while its key held A's token, and it counted for B only when
// B's SET NX found no key. If B's SET came first, then B's key had gone before A's
// SET could succeed, so B's lease was over before A's began: the wrong order. So
// it counted for B after it had written A's token, hence higher than that; and B's
// token is at least what it counted.
func (c *Client) fence(ctx context.Context, talk protocol.Conversation, key, name, token string, votes *tally, until time.Time, s *settings) (int64, *Error) {
	var highest int64
	for _, v := range votes.votes {
		highest = max(highest, v.Reply)
	}
	back := c.ask(ctx, talk, writeBackCommand(name, token, highest), (*tally).decided, s)
	err := c.acquireError(ctx, key, back, until, s)
	if err != nil && errors.Is(err, ErrTaken) {
		err.Kind = ErrLost // the masters voted for us a moment ago
	}
	return highest, err
}

// newToken is 20 random bytes, as distlock proposes, fresh for each attempt: with
// one token for all attempts the release of the first could delete the key of the
// second.
func newToken(r protocol.Runtime) string {
	b := digits.Get().(*[60]byte) // 20 random ones, and their 40 digits
	defer digits.Put(b)
	r.Read(b[:20])
	hex.Encode(b[20:], b[:20])
	return string(b[20:])
}

var digits = sync.Pool{New: func() any { return new([60]byte) }}
