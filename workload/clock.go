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

// Clock is a client's own clocks: a Runtime whose time runs at a rate that can be bent,
// and a wall clock that can be stepped. Where it begins, both show what the Runtime
// below it shows.
//
// They are apart as an operating system's are: who steps the time of day moves the wall
// clock alone, while both run at the rate of one crystal. A monotonic clock never steps.
type Clock struct {
	protocol.Runtime
	mu    sync.Mutex
	from  time.Time // true time since when the rate holds,
	base  time.Time // and what the monotonic clock showed then
	rate  float64
	ahead time.Duration // of the wall clock before the monotonic one
}

// WallClock is what a Runtime has that also tells the time of day, for locks that are so
// careless as to measure with it. A lock that is right never looks.
type WallClock interface {
	// Wall is the time on a clock that may step, forward and back.
	Wall() time.Time
}

// NewClock is right until its rate is set.
func NewClock(r protocol.Runtime) *Clock {
	now := r.Now()
	return &Clock{Runtime: r, from: now, base: now, rate: 1}
}

// Now is the time of the monotonic clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shows(c.Runtime.Now())
}

func (c *Clock) shows(t time.Time) time.Time {
	return c.base.Add(time.Duration(float64(t.Sub(c.from)) * c.rate))
}

// Wall is the time of the wall clock.
func (c *Clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Without the monotonic reading: the difference of two such times tells of steps.
	return c.shows(c.Runtime.Now()).Round(0).Add(c.ahead)
}

// Set has the clocks count to.Rate seconds in a true one from now on, and the wall clock
// be to.Offset ahead of where it would be had it never been stepped.
func (c *Clock) Set(to cluster.Clock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.Runtime.Now()
	c.from, c.base, c.rate, c.ahead = t, c.shows(t), rateOf(to), to.Offset
}

// rateOf is a clock's rate: 0 stands for 1.
func rateOf(c cluster.Clock) float64 {
	if c.Rate == 0 {
		return 1
	}
	return c.Rate
}

// CheckClock returns what is wrong with a setting of a client's clock.
func CheckClock(c cluster.Clock) error {
	if rate := rateOf(c); !(rate > 0) {
		return fmt.Errorf("a clock cannot run at the rate %v: it must be above 0", rate)
	}
	return nil
}

// True is when, in truth, the monotonic clock shows t, if its rate stays what it is.
func (c *Clock) True(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from.Add(time.Duration(float64(t.Sub(c.base)) / c.rate))
}

// truly is how long d of this clock lasts in truth, rounded up: what waits for the rest of
// a time must not wait for nothing, or it would wait for ever at the same moment.
func (c *Clock) truly(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(math.Ceil(float64(d) / c.rate))
}

// Sleep sleeps for d of this clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	return c.Runtime.Sleep(ctx, c.truly(d))
}

// AfterFunc runs f after d of this clock.
func (c *Clock) AfterFunc(d time.Duration, f func()) func() bool {
	return c.Runtime.AfterFunc(c.truly(d), f)
}
