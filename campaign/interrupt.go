package campaign

import (
	"context"

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
