package world

import (
	"context"
	"encoding/binary"
	"math"
	"time"
)

// Client is the process of one client: a Runtime with a clock of its own, which can be wrong. The
// process can be paused. The Runtime of a World is a Client with a true clock.
//
// A client consists of the coroutines that wait through it or belong to it (Coroutine.BelongTo): while it is
// paused, events do not wake them.
type Client struct {
	world    *World
	name     string
	clock    Clock // monotonic: it may drift, and stand still, but it never steps
	ahead    int64 // ns by which the wall clock is ahead of the monotonic one
	paused   bool
	late     []entry     // events that were due while it was paused
	observed historyHash // see Observed
	started  int64       // number of coroutines started so far
	timers   Timer       // ring of the running timers
}

func newClient(w *World, name string) *Client {
	c := &Client{world: w, name: name}
	c.clock.Set(w.now, w.now, 0)
	c.timers.prev, c.timers.next = &c.timers, &c.timers
	return c
}

// Runtime returns the runtime with true time, for the harness and the nemesis. It implements
// cluster.Runtime and protocol.Runtime.
func (w *World) Runtime() *Client { return w.root }

// ClientRuntime returns the process of a client. Later calls return the same one.
func (w *World) ClientRuntime(name string) *Client {
	c := w.clients[name]
	if c == nil {
		c = newClient(w, name)
		w.clients[name] = c
	}
	return c
}

// Name returns the name of the client; "" for the Runtime of the world.
func (c *Client) Name() string { return c.name }

// Reading returns the time on the client's monotonic clock, in ns since Epoch.
func (c *Client) Reading() int64 { return c.clock.Read(c.world.now) }

// Now returns the time on the client's monotonic clock, which begins at Epoch.
func (c *Client) Now() time.Time {
	return Epoch.Add(time.Duration(c.Reading()))
}

// Wall returns the time on the client's wall clock, for incorrect locks that use it.
func (c *Client) Wall() time.Time {
	return Epoch.Add(time.Duration(c.Reading() + c.ahead))
}

// True returns the time on the world's clock at which the client's monotonic clock shows t, if
// its rate does not change.
func (c *Client) True(t time.Time) time.Time {
	local := int64(t.Sub(Epoch))
	if at := c.clock.When(local); at != math.MaxInt64 && local >= c.clock.shown {
		return Epoch.Add(time.Duration(at))
	}
	return Epoch.Add(time.Duration(c.clock.since + local - c.clock.shown))
}

// Jump steps the wall clock. The monotonic clock, and so all waiting, is not affected.
func (c *Client) Jump(d time.Duration) {
	c.ahead += int64(d)
	c.Note(11, int64(d))
}

// Drift sets how many seconds the client's clocks count in a true second, from now on: 1.01 is
// 1 % fast. Its timers fire earlier or later accordingly.
func (c *Client) Drift(rate float64) { c.setGain(GainOf(rate)) }

func (c *Client) setGain(gain int64) {
	c.Note(12, gain)
	now := c.world.now
	c.clock.Set(now, c.clock.Read(now), max(gain, -second))
	for t := c.timers.next; t != &c.timers; t = t.next {
		t.arm()
	}
}

// Pause stops the client as SIGSTOP does: nothing wakes it until it is resumed. Its clock
// continues.
func (c *Client) Pause() {
	c.paused = true
	c.Note(13)
}

// Resume lets the client continue. The events that were due while it was paused reach it now, in their
// order, a nanosecond apart.
func (c *Client) Resume() {
	c.paused = false
	c.Note(14)
	late := c.late
	c.late = nil
	for i, x := range late {
		if !x.stale() { // otherwise it was cancelled or rescheduled meanwhile
			c.world.At(c.world.now+int64(i), x.event)
		}
	}
}

// Paused reports whether the client is paused.
func (c *Client) Paused() bool { return c.paused }

// Defer keeps an event until the client is resumed.
func (c *Client) Defer(e *Event) {
	c.world.queue.tickets++
	e.ticket = c.world.queue.tickets
	c.late = append(c.late, entry{e.ticket, e})
}

// Sleep waits for d on the client's monotonic clock. It returns context.Cause(ctx)
// if ctx ends before.
func (c *Client) Sleep(ctx context.Context, d time.Duration) error {
	co := c.world.Running("Sleep")
	if err := c.world.Ended(ctx); err != nil {
		return err
	}
	co.owner = c.asOwner(co)
	co.timer.Begin(c, d)
	co.WaitOn(ctx, "its sleep to end")
	if co.timer.End() {
		return c.world.Ended(ctx) // the timer has not fired, so the context has ended
	}
	return nil
}

// asOwner returns the client that owns a coroutine that waits through c: c, or for the harness's
// runtime the client that owned the coroutine before.
func (c *Client) asOwner(co *Coroutine) *Client {
	if c == c.world.root {
		return co.owner
	}
	return c
}

// Go runs f concurrently with its caller, from this instant on.
func (c *Client) Go(f func()) { c.world.spawn(c, f) }

// Goroutine returns the name of the current coroutine's goroutine. It calls find for it once: a
// coroutine stays on its goroutine, whatever it runs.
func (c *Client) Goroutine(find func() string) string {
	co := c.world.Running("Goroutine")
	if co.goroutine == "" {
		co.goroutine = find()
	}
	return co.goroutine
}

// AfterFunc runs f, in a coroutine of its own, after d on the client's clock.
func (c *Client) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	x := &call{f: f}
	x.Init(x)
	x.Begin(c, d)
	return x.End
}

// call is an event that calls a function.
type call struct {
	Timer
	f func()
}

// Fire starts the function.
func (x *call) Fire() { x.client.world.spawn(x.client, x.f) }

// Read fills b with random bytes.
func (c *Client) Read(b []byte) {
	for len(b) > 0 {
		// A choice has 62 bits; the two lowest bits also serve as the two highest.
		word := uint64(c.world.Intn(wide, WhatBytes))
		word ^= word << 31 << 31
		var bytes [8]byte
		binary.LittleEndian.PutUint64(bytes[:], word)
		b = b[copy(b, bytes[:]):]
	}
}

// Timer is a wait on a client's clock: it fires later if the clock is slow, and not while the client is
// paused.
type Timer struct {
	event      Event
	client     *Client
	due        int64      // on the client's clock
	sleeper    *Coroutine // the coroutine that it wakes
	rings      Action     // the action if there is no sleeper
	prev, next *Timer     // in the client's ring, while the timer runs
	rang       bool
}

// Init sets what the timer does. It must be called before Begin.
func (t *Timer) Init(a Action) { t.event.Do, t.rings = t, a }

// Running reports whether the timer has begun, and has neither fired nor ended.
func (t *Timer) Running() bool { return t.next != nil }

// Left returns the time until the timer fires, on the clock of its client.
func (t *Timer) Left() time.Duration { return time.Duration(t.due - t.client.Reading()) }

// Begin starts the timer: it fires after d on the clock of c.
func (t *Timer) Begin(c *Client, d time.Duration) {
	t.client, t.rang = c, false
	t.due = c.Reading() + int64(max(d, 0))
	if t.due < 0 { // beyond the range of times
		t.due = math.MaxInt64
	}
	t.prev, t.next = c.timers.prev, &c.timers
	t.prev.next, t.next.prev = t, t
	t.arm()
}

// arm schedules the timer by the current setting of the client's clock.
func (t *Timer) arm() {
	if at := t.client.clock.When(t.due); at != math.MaxInt64 {
		t.client.world.At(at, &t.event)
	} else {
		t.client.world.Cancel(&t.event)
	}
}

// End stops the timer and reports whether the timer had not fired yet.
func (t *Timer) End() bool {
	if t.rang || t.next == nil {
		return false
	}
	t.unlink()
	t.client.world.Cancel(&t.event)
	return true
}

func (t *Timer) unlink() {
	t.prev.next, t.next.prev = t.next, t.prev
	t.prev, t.next = nil, nil
}

// Fire lets the waiting coroutine continue, or carries out the action.
func (t *Timer) Fire() {
	owner := t.client
	if t.sleeper != nil {
		owner = t.sleeper.owner
	}
	if owner.paused {
		owner.Defer(&t.event)
		return
	}
	t.unlink()
	t.rang = true
	if t.sleeper != nil {
		t.sleeper.Proceed()
		return
	}
	t.rings.Fire()
}
