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

// A client that cannot bend its clocks has clocks that the harness bends (workload.ProgramClocks).
// They are its own in every respect: it reads them, its waits go by them, what it says about times
// is in their terms, and it relies on a lease until they say that the lease is over. The harness
// turns all of that into true time here.

// bending makes the clocks of a process that is about to start, and returns what to add to its
// environment. If there are none, it starts as it is.
func (c *Client) bending(command Command) []string {
	if command.Clocks == nil {
		c.unbent = errors.New("the run was not to bend them")
		return nil
	}
	clocks, err := command.Clocks()
	if err != nil {
		c.unbent = err
		return nil
	}
	c.clocks = clocks
	return clocks.Env()
}

// met decides who bends the clocks of a process that has described itself. The caller holds c.mu.
func (c *Client) met(hello *Hello) {
	if c.clocks != nil && !hello.Has(workload.CanClock) { // otherwise they stay right, and it bends its own
		c.unbent = c.clocks.Bend(c.process.cmd.Process.Pid)
	}
	if !hello.Has(workload.CanClock) {
		hello.Unbent = c.unbent
	}
}

// SetClock sets the client's clocks. The remaining validity of its leases can change by that. Clocks
// of the harness are set when it returns. A process that bends its own reports the new ends, and
// that it uses the new clocks, when it receives the request; a stopped process does neither.
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
	case c.unbent == nil:
	case to == cluster.Clock{Rate: 1}:
		return false, nil // they never were anything else
	default:
		return false, fmt.Errorf("%w: %w", workload.ErrUnbent, c.unbent)
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

// Behind returns how much less than truth the client's clocks have counted, if the harness bends
// them: a client that gives up by them does so later by that.
func (c *Client) Behind() time.Duration {
	if c.clocks == nil {
		return 0
	}
	return c.clocks.Behind()
}

// within is how long by its own clock a client may take for a request that may take d in truth.
func (c *Client) within(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(float64(d) * cmp.Or(c.rate, 1))
}

// lasts returns when a lease ends: in truth, and what the client's monotonic clock shows then (0:
// it has no end). The remaining time in the message holds at the time m.At of that clock. If a
// client does not state it, the TTL counts from when it sent the first command of the attempt that
// succeeded; if no link saw that, from the invocation. The caller holds c.mu.
func (c *Client) lasts(token string, m Message, invoked time.Time) (until time.Time, ends int64) {
	switch {
	case m.At != 0:
		ends = m.At + int64(m.Left)
	case c.hello.Lease == workload.NoLease:
		return invoked.Add(history.Endless), 0
	default:
		began := c.attempted(token, invoked)
		if c.clocks == nil {
			return began.Add(c.site.TTL), 0
		}
		ends = c.clocks.Shown(monotonic()-int64(time.Since(began))) + int64(c.site.TTL)
	}
	return c.trueTime(ends), ends
}

// trueTime returns when the client's monotonic clock shows a time.
func (c *Client) trueTime(shown int64) time.Time {
	now := time.Now() // read first, so that the error is on the safe side
	return now.Add(time.Duration(c.truly(shown) - monotonic()))
}

// truly returns what the machine's monotonic clock shows when the client's shows a time.
func (c *Client) truly(shown int64) int64 {
	if c.clocks == nil {
		return shown
	}
	return c.clocks.True(shown)
}

// ago returns how long ago the event of a message happened; 0 if the message does not say.
func (c *Client) ago(m Message) time.Duration {
	if m.When == 0 {
		return 0
	}
	return max(0, time.Duration(monotonic()-c.truly(m.When)))
}
