package workload

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/redlock/protocol"
)

// Clock has the clocks of a client: a Runtime whose time runs at a rate that can be changed,
// and a wall clock that can be stepped. At first, both show the time of the Runtime below.
//
// The two clocks are separate, as in an operating system: setting the time of day changes only
// the wall clock, and the rate of the one oscillator affects both. A monotonic clock never
// steps.
type Clock struct {
	protocol.Runtime
	mu    sync.Mutex
	from  time.Time // the true time from which the rate applies
	base  time.Time // the reading of the monotonic clock at that time
	rate  float64
	ahead time.Duration // by how much the wall clock is ahead of the monotonic one
}

// WallClock is the optional interface of a Runtime that also has the time of day, for incorrect
// locks that measure with it.
type WallClock interface {
	// Wall returns the time on a clock that may step, forward and back.
	Wall() time.Time
}

// NewClock returns a clock that is right until it is set.
func NewClock(r protocol.Runtime) *Clock {
	now := r.Now()
	return &Clock{Runtime: r, from: now, base: now, rate: 1}
}

// Now returns the time of the monotonic clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shows(c.Runtime.Now())
}

func (c *Clock) shows(t time.Time) time.Time {
	return c.base.Add(time.Duration(float64(t.Sub(c.from)) * c.rate))
}

// Wall returns the time of the wall clock.
func (c *Clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Remove the monotonic reading, so that the difference of two such times contains steps.
	return c.shows(c.Runtime.Now()).Round(0).Add(c.ahead)
}

// Set makes the clocks count to.Rate seconds in a true second from now on. It sets the wall
// clock to.Offset ahead of a wall clock that has never been stepped.
func (c *Clock) Set(to cluster.Clock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.Runtime.Now()
	c.from, c.base, c.rate, c.ahead = t, c.shows(t), rateOf(to), to.Offset
}

// rateOf returns a clock's rate; 0 means 1.
func rateOf(c cluster.Clock) float64 {
	if c.Rate == 0 {
		return 1
	}
	return c.Rate
}

// CheckClock returns an error if the setting of a client's clock is invalid.
func CheckClock(c cluster.Clock) error {
	if rate := rateOf(c); !(rate > 0) {
		return fmt.Errorf("a clock cannot run at the rate %v: it must be above 0", rate)
	}
	return nil
}

// True returns the true time at which the monotonic clock shows t if its rate does not change.
func (c *Clock) True(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from.Add(time.Duration(float64(t.Sub(c.base)) / c.rate))
}

// truly converts a duration on this clock to true time, rounded up: a wait for the rest of a
// time must not be a wait of 0, which would be repeated forever at the same moment.
func (c *Clock) truly(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(math.Ceil(float64(d) / c.rate))
}

// Sleep sleeps for d on this clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	return c.Runtime.Sleep(ctx, c.truly(d))
}

// AfterFunc runs f after d on this clock.
func (c *Clock) AfterFunc(d time.Duration, f func()) func() bool {
	return c.Runtime.AfterFunc(c.truly(d), f)
}
