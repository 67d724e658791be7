package workload

import (
	"context"
	"sync"
	"time"

	"lockpick/redlock"
)

// Clock is a client's own monotonic clock: a Runtime whose time runs at a rate that
// can be bent. At rate 1, where it begins, it shows what the Runtime below it shows. A
// step of a wall clock is not modelled: the locks here use the monotonic one.
type Clock struct {
	redlock.Runtime
	mu   sync.Mutex
	from time.Time // true time since when the rate holds,
	base time.Time // and what the clock showed then
	rate float64
}

// NewClock is right until its rate is set.
func NewClock(r redlock.Runtime) *Clock {
	now := r.Now()
	return &Clock{Runtime: r, from: now, base: now, rate: 1}
}

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shows(c.Runtime.Now())
}

func (c *Clock) shows(t time.Time) time.Time {
	return c.base.Add(time.Duration(float64(t.Sub(c.from)) * c.rate))
}

// SetRate has the clock count rate seconds in a true one from now on.
func (c *Clock) SetRate(rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.Runtime.Now()
	c.from, c.base, c.rate = t, c.shows(t), rate
}

// True is when, in truth, the clock shows t, if its rate stays what it is.
func (c *Clock) True(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from.Add(time.Duration(float64(t.Sub(c.base)) / c.rate))
}

// truly is how long d of this clock lasts in truth.
func (c *Clock) truly(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(float64(d) / c.rate)
}

// Sleep sleeps for d of this clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	return c.Runtime.Sleep(ctx, c.truly(d))
}

// AfterFunc runs f after d of this clock.
func (c *Clock) AfterFunc(d time.Duration, f func()) func() bool {
	return c.Runtime.AfterFunc(c.truly(d), f)
}
