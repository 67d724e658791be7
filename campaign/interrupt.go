package campaign

import (
	"context"

	"lockpick/history"
	"lockpick/workload"
)

// interrupt ends the run because the outer context has ended. It records that before it
// cancels anything, so that nothing that the harness itself cancelled looks like an answer
// of the lock. A run that has ended cannot be interrupted.
func (c *campaign) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.interrupted {
		return
	}
	c.interrupted = true
	cause := context.Cause(c.outer)
	c.recorder.Record(history.Op{Process: history.Harness, Type: history.Info, F: history.FInterrupted, Error: cause.Error()})
	c.cancel(cause)
	// A call that ignores that its context has ended is waited for only so long.
	c.runtime.AfterFunc(workload.ReturnBound(0), func() { c.work.Load().Abandon() })
}

// end records the end mark of a run that was not interrupted: its history is complete.
func (c *campaign) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.interrupted {
		return
	}
	c.recordDeaths()
	c.ended = true
	c.recorder.Record(history.Op{Process: history.Harness, Type: history.Info, F: history.FEnd})
}
