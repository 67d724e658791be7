package redlock

import (
	"context"
	"errors"
	"slices"
	"time"
)

// waitQueue holds the callers of one Client that wait for one key, first come, first
// served. Only the caller with the current ticket sends attempts to the masters: the other
// callers could only take votes from it. The queue exists while some caller has the ticket.
// A caller passes its ticket on when the lease that it acquired is over: as soon as the
// release is queued for the masters if they execute commands in the order in which they are
// sent, otherwise when the release is answered.
type waitQueue struct {
	ticket  *ticket // the current one
	waiting []*ticket
	since   time.Time // since when the callers of this process have kept the key, with other callers waiting
}

// ticket is a caller's place in a waitQueue. The Client's mutex guards the fields that
// change.
type ticket struct {
	client *Client
	key    string
	wake   context.CancelCauseFunc // ends the wait
	woken  bool                    // the ticket has become the current one
	passed bool                    // the next ticket has become the current one
	hold   *hold                   // the hold that was acquired with the ticket; nil: none yet
}

// errNext ends the wait of the next caller in the queue.
var errNext = errors.New("this caller is the next")

const (
	// maxStreak is how long the callers of one Client may pass a ticket among themselves.
	// Then the next one pauses for up to maxPause before its first attempt, so that waiters
	// in other processes, which learn later that the lock is free, get it too.
	maxStreak = 100 * time.Millisecond
	maxPause  = 10 * time.Millisecond
)

// enqueue waits until the caller has the current ticket of a key. The error is ErrClosed
// or ctx's cause.
func (c *Client) enqueue(ctx context.Context, key string, s *settings) (*ticket, error) {
	c.mu.Lock()
	if c.closed() {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	q := c.queues[key]
	if q == nil {
		t := c.newQueue(key)
		c.mu.Unlock()
		return t, nil
	}
	t := &ticket{client: c, key: key}
	wait, wake := s.runtime.WithCancelCause(ctx)
	t.wake = wake
	if len(q.waiting) == 0 && q.since.IsZero() {
		q.since = s.runtime.Now()
	}
	q.waiting = append(q.waiting, t)
	hold := q.ticket.hold
	c.mu.Unlock()
	if hold != nil {
		hold.startTimer()
	}
	for wait.Err() == nil {
		s.runtime.Sleep(wait, time.Hour)
	}
	wake(nil) // releases the resources that ctx keeps for wait
	if err := context.Cause(wait); err != errNext {
		t.leave()
		return nil, err
	}
	if pause := t.pause(s); pause > 0 {
		if s.runtime.Sleep(ctx, pause) != nil {
			t.Pass()
			return nil, context.Cause(ctx)
		}
	}
	return t, nil
}

// tryEnqueue returns the current ticket of a key if no other caller has it, otherwise nil.
// TryLock makes its attempt with or without one.
func (c *Client) tryEnqueue(key string) *ticket {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues[key] != nil {
		return nil
	}
	return c.newQueue(key)
}

// newQueue makes a key's queue and its current ticket. The caller holds c.mu.
func (c *Client) newQueue(key string) *ticket {
	if len(c.queues) >= c.sweepAt {
		c.sweepQueues()
	}
	t := &ticket{client: c, key: key}
	c.queues[key] = &waitQueue{ticket: t}
	return t
}

// minSweep is the least number of queues at which sweepQueues runs.
const minSweep = 128

// sweepQueues removes the queues of leases that have expired without a release and without
// a waiter. It runs when there are twice as many queues as it left the last time. The
// caller holds c.mu.
func (c *Client) sweepQueues() {
	now := c.settings.runtime.Now()
	for key, q := range c.queues { // in any order: no queue depends on another
		if h := q.ticket.hold; h != nil && len(q.waiting) == 0 && h.expired(now) {
			q.ticket.passed = true
			delete(c.queues, key)
		}
	}
	c.sweepAt = max(minSweep, 2*len(c.queues))
}

// acquired records the hold that was acquired with a ticket, and reports whether other
// callers wait.
func (t *ticket) acquired(h *hold) (awaited bool) {
	if t == nil {
		return false
	}
	t.client.mu.Lock()
	defer t.client.mu.Unlock()
	t.hold = h
	return len(t.client.queues[t.key].waiting) > 0
}

// pause returns how long to wait before the first attempt: 0 unless this process has kept
// the key for longer than maxStreak.
func (t *ticket) pause(s *settings) time.Duration {
	now := s.runtime.Now()
	t.client.mu.Lock()
	q := t.client.queues[t.key]
	long := now.Sub(q.since) > maxStreak
	if long {
		q.since = now
	}
	t.client.mu.Unlock()
	if !long {
		return 0
	}
	return between(s.runtime, 0, maxPause)
}

// leave removes a ticket from the queue. If the ticket has become the current one at the
// same moment, leave passes it on.
func (t *ticket) leave() {
	c := t.client
	c.mu.Lock()
	woken := t.woken
	if q := c.queues[t.key]; q != nil && !woken {
		q.waiting = slices.DeleteFunc(q.waiting, func(x *ticket) bool { return x == t })
	}
	c.mu.Unlock()
	if woken {
		t.Pass()
	}
}

// Pass makes the next ticket the current one, or removes the queue if nobody waits. Only
// the first call has an effect. On a nil ticket Pass does nothing.
func (t *ticket) Pass() {
	if t == nil {
		return
	}
	c := t.client
	c.mu.Lock()
	if t.passed {
		c.mu.Unlock()
		return
	}
	t.passed = true
	var next *ticket
	if q := c.queues[t.key]; len(q.waiting) > 0 {
		next = q.waiting[0]
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
		q.ticket, next.woken = next, true
	} else {
		delete(c.queues, t.key)
	}
	c.mu.Unlock()
	if next != nil {
		next.wake(errNext)
	}
}

// closeQueues ends all waiting with ErrClosed.
func (c *Client) closeQueues() {
	c.mu.Lock()
	var all []*ticket
	for _, q := range c.queues { // in any order: each waiter only learns that the client is closed
		all = append(all, q.waiting...)
	}
	c.mu.Unlock()
	for _, t := range all {
		t.wake(ErrClosed)
	}
}
