package campaign

import (
	"context"
	"fmt"
	"time"

	"lockpick/history"
	"lockpick/workload"
)

// interrupt ends the run because the outer context has ended. It records that before it cancels anything, so
// that an operation that the harness cancelled does not look like a result of the lock. It has no effect
// after the end of the run.
func (c *campaign) interrupt() { c.interruptBy(context.Cause(c.outer)) }

// interruptBy interrupts the run and records the cause.
func (c *campaign) interruptBy(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.interrupted {
		return
	}
	c.interrupted = true
	c.recorder.Record(history.Op{Process: history.Harness, Type: history.Info, F: history.FInterrupted, Error: cause.Error()})
	c.cancel(cause)
	// The run waits only this long for a call that ignores the end of its context.
	c.runtime.AfterFunc(workload.ReturnBound(0, 0), func() { c.work.Load().Abandon() })
}

// pollInterrupt polls whether the outer context has ended, or the history has grown beyond what memory may have to hold, and
// interrupts the run: nothing from outside may disturb virtual time. It also reports progress, in the same way in all runs,
// because reporting must not change the run.
func (c *campaign) pollInterrupt(ctx, working context.Context) {
	for c.runtime.Sleep(ctx, 100*time.Millisecond) == nil {
		c.showStatus(working)
		switch n := c.recorder.Len(); {
		case c.outer.Err() != nil:
			c.interrupt()
			return
		case c.file == nil && n > mostLines:
			c.interruptBy(fmt.Errorf("its history has %d lines, and one that is kept in memory may have %d: take a shorter time limit or fewer clients", n, mostLines))
			return
		}
	}
}

// mostLines is the number of lines after which a run ends whose history is kept in memory: a lock whose waiters go on asking
// after their acquires have ended asks more with each acquire. Runs of a search have some thousand lines.
var mostLines = 2_000_000

// end records the end mark, unless the run was interrupted: then the history is complete.
func (c *campaign) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.interrupted {
		return
	}
	c.recordDeaths()
	if !c.virtual {
		c.recordStrangers()
	}
	for _, h := range c.lint.Hints(c.runtime.Now()) {
		c.recorder.Record(ruleOp(h))
	}
	c.ended = true
	c.recorder.Record(history.Op{Process: history.Harness, Type: history.Info, F: history.FEnd})
}
