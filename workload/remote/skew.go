package remote

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/workload"
)

// If a client cannot skew its clocks, the harness gives it clocks that the harness skews
// (workload.ProgramClocks). The client behaves as if they were right: it reads them, its waits end
// by them, its messages contain their times, and it relies on a lease until they show its end. The
// harness converts all these times to true time here.

// skewing makes the clocks of a process that is about to start, and returns the variables to add to
// its environment; nil: the process keeps the machine's clocks.
func (c *Client) skewing(command Command) []string {
	if command.Clocks == nil {
		c.noSkew = errors.New("the run was not to skew them")
		return nil
	}
	clocks, err := command.Clocks()
	if err != nil {
		c.noSkew = err
		return nil
	}
	c.clocks = clocks
	return clocks.Env()
}

// met decides whether the harness skews the clocks of a process that has described itself. The
// caller holds c.mu.
func (c *Client) met(hello *Hello) {
	if c.clocks != nil && !hello.Has(workload.CanClock) { // with CanClock the client skews its own clocks
		c.noSkew = c.clocks.Skew(c.process.cmd.Process.Pid)
	}
	if !hello.Has(workload.CanClock) {
		hello.NoSkew = c.noSkew
	}
}

// SetClock sets the client's clocks. The remaining validity of its leases can thereby change. Clocks
// that the harness skews are set when SetClock returns. A process that skews its own clocks reports
// the new ends, and that it uses the new clocks, when it receives the request; a stopped process
// does neither.
func (c *Client) SetClock(to cluster.Clock) (now bool, err error) {
	to.Rate = cmp.Or(to.Rate, 1)
	if err := workload.CheckClock(to); err != nil {
		return false, err
	}
	if c.hello.Has(workload.CanClock) {
		return false, c.send(Request{Op: opClock, Rate: to.Rate, Offset: to.Offset})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.noSkew == nil:
	case to == cluster.Clock{Rate: 1}:
		return false, nil // the clocks have always been right
	default:
		return false, fmt.Errorf("%w: %w", workload.ErrNoSkew, c.noSkew)
	}
	if c.gone {
		return false, workload.ErrGone
	}
	if err := c.clocks.Set(to); errors.Is(err, os.ErrClosed) {
		return false, workload.ErrGone
	} else if err != nil {
		return false, err
	}
	c.rate = to.Rate
	for _, l := range c.leases {
		if l.ends != 0 {
			l.until = c.trueTime(l.ends)
		}
	}
	return true, nil
}

// Behind returns by how much the client's clocks have fallen behind true time, if the harness skews
// them: a client that measures a timeout by them gives up that much later.
func (c *Client) Behind() time.Duration {
	if c.clocks == nil {
		return 0
	}
	return c.clocks.Behind()
}

// within converts the true duration d of a request to the client's own clock.
func (c *Client) within(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(float64(d) * cmp.Or(c.rate, 1))
}

// lasts returns the true time at which a lease ends, and the reading of the client's monotonic clock
// then (0: it has no end). The remaining time in the message applies at the time m.At of that clock.
// If a client does not state it, the TTL counts from the first command of the attempt that
// succeeded; if no link saw that, it counts from the invocation, and atLeast is true. The caller holds c.mu.
func (c *Client) lasts(token string, m Message, invoked time.Time) (until time.Time, ends int64, atLeast bool) {
	switch {
	case m.At != 0:
		ends = m.At + int64(m.Left)
	case c.hello.Lease == workload.NoLease:
		return invoked.Add(history.Endless), 0, false
	default:
		began, seen := c.attempts.Began(token, invoked)
		atLeast = !seen
		if c.clocks == nil {
			return began.Add(c.site.TTL), 0, atLeast
		}
		ends = c.clocks.Shown(monotonic()-int64(time.Since(began))) + int64(c.site.TTL)
	}
	return c.trueTime(ends), ends, atLeast
}

// trueTime returns the true time at which the client's monotonic clock shows a time.
func (c *Client) trueTime(shown int64) time.Time {
	now := time.Now() // read first, so that the error is on the safe side
	return now.Add(time.Duration(c.truly(shown) - monotonic()))
}

// truly returns the reading of the machine's monotonic clock when the client's shows a time.
func (c *Client) truly(shown int64) int64 {
	if c.clocks == nil {
		return shown
	}
	return c.clocks.True(shown)
}

// ago returns how long ago the event of a message happened; 0 if the message does not state it.
func (c *Client) ago(m Message) time.Duration {
	if m.When == 0 {
		return 0
	}
	return max(0, time.Duration(monotonic()-c.truly(m.When)))
}
