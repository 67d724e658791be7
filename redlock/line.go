package redlock

import (
	"context"
	"errors"
	"time"
)

// line is where the callers of one Client wait for one key, first come, first served.
// Only the first of them asks the masters: the others could only take votes from it.
// It exists while somebody has the turn, which lasts until what was acquired with it is
// over. Where masters keep the order in which they are asked, that is once its release has
// been asked; elsewhere, once it is answered.
type line struct {
	turn    *turn // whose it is
	waiting []*turn
	since   time.Time // the turn has gone from hand to hand since then, while others waited
}

// turn is the right to ask for a key, or the wait for it. The client's mutex guards what
// changes.
type turn struct {
	client *Client
	key    string
	call   context.CancelCauseFunc // ends the wait
	called bool
	over   bool  // it was passed on
	hold   *hold // that was acquired in it; nil: none yet
}

// errTurn ends the wait in line: it is one's turn.
var errTurn = errors.New("it is your turn")

const (
	// streak is for how long the turn may go from hand to hand in one process, and
	// courtesy for how long at most nobody there asks after that, so that others,
	// who learn only later that the lock was free, get it too.
	streak   = 100 * time.Millisecond
	courtesy = 10 * time.Millisecond
)

// enqueue waits for the turn on a key. The error is ErrClosed or ctx's cause.
func (c *Client) enqueue(ctx context.Context, key string, s *settings) (*turn, error) {
	c.mu.Lock()
	if c.closed() {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	l := c.lines[key]
	if l == nil {
		t := c.first(key)
		c.mu.Unlock()
		return t, nil
	}
	t := &turn{client: c, key: key}
	wait, call := s.runtime.WithCancelCause(ctx)
	t.call = call
	if len(l.waiting) == 0 && l.since.IsZero() {
		l.since = s.runtime.Now()
	}
	l.waiting = append(l.waiting, t)
	hold := l.turn.hold
	c.mu.Unlock()
	if hold != nil {
		hold.attend()
	}
	for wait.Err() == nil {
		s.runtime.Sleep(wait, time.Hour)
	}
	call(nil) // lets go of ctx
	if err := context.Cause(wait); err != errTurn {
		t.leave()
		return nil, err
	}
	if pause := t.pause(s); pause > 0 {
		if s.runtime.Sleep(ctx, pause) != nil {
			t.pass()
			return nil, context.Cause(ctx)
		}
	}
	return t, nil
}

// ahead takes the turn if nobody else has it. Else it returns nil: to try needs none.
func (c *Client) ahead(key string) *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines[key] != nil {
		return nil
	}
	return c.first(key)
}

// first begins a line with the turn in it. The caller holds c.mu.
func (c *Client) first(key string) *turn {
	if len(c.lines) >= c.tidyAt {
		c.tidy()
	}
	both := &struct {
		line
		turn
	}{turn: turn{client: c, key: key}}
	both.line.turn = &both.turn
	c.lines[key] = &both.line
	return &both.turn
}

// tidyLeast is how many lines there are before any are tidied up.
const tidyLeast = 128

// tidy ends the lines of leases that have expired, and that nobody has released or waits
// for. It comes when there are twice as many lines as it left the last time. The caller
// holds c.mu.
func (c *Client) tidy() {
	now := c.settings.runtime.Now()
	for key, l := range c.lines { // in any order: each is looked at by itself
		if h := l.turn.hold; h != nil && len(l.waiting) == 0 && h.lapsed(now) {
			l.turn.over = true
			delete(c.lines, key)
		}
	}
	c.tidyAt = max(tidyLeast, 2*len(c.lines))
}

// taken notes what was acquired in a turn, and says whether others wait for its end.
func (t *turn) taken(h *hold) (awaited bool) {
	if t == nil {
		return false
	}
	t.client.mu.Lock()
	defer t.client.mu.Unlock()
	t.hold = h
	return len(t.client.lines[t.key].waiting) > 0
}

// pause is how long to hold back, because the turn has been in this process for long.
func (t *turn) pause(s *settings) time.Duration {
	now := s.runtime.Now()
	t.client.mu.Lock()
	l := t.client.lines[t.key]
	long := now.Sub(l.since) > streak
	if long {
		l.since = now
	}
	t.client.mu.Unlock()
	if !long {
		return 0
	}
	return between(s.runtime, 0, courtesy)
}

// leave gives up waiting. If the turn came at the same moment, it is passed on.
func (t *turn) leave() {
	c := t.client
	c.mu.Lock()
	called := t.called
	if l := c.lines[t.key]; l != nil && !called {
		for i, x := range l.waiting {
			if x == t {
				l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
				break
			}
		}
	}
	c.mu.Unlock()
	if called {
		t.pass()
	}
}

// pass gives the turn to the next in line. Only the first call counts.
func (t *turn) pass() {
	if t == nil {
		return
	}
	c := t.client
	c.mu.Lock()
	if t.over {
		c.mu.Unlock()
		return
	}
	t.over = true
	var next *turn
	if l := c.lines[t.key]; len(l.waiting) > 0 {
		next = l.waiting[0]
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		l.turn, next.called = next, true
	} else {
		delete(c.lines, t.key)
	}
	c.mu.Unlock()
	if next != nil {
		next.call(errTurn)
	}
}

// dismiss ends all waiting, because the client is closed.
func (c *Client) dismiss() {
	c.mu.Lock()
	var all []*turn
	for _, l := range c.lines { // in any order: each only learns that it is over
		all = append(all, l.waiting...)
	}
	c.mu.Unlock()
	for _, t := range all {
		t.call(ErrClosed)
	}
}
