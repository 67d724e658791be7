package campaign

import (
	"context"
	"time"
)

// reportProgress reports progress of a run in real time, until ctx ends. When working ends, all faults
// are ended.
func (c *campaign) reportProgress(ctx, working context.Context) {
	for c.opt.Live != nil && c.runtime.Sleep(ctx, 200*time.Millisecond) == nil {
		c.showStatus(working)
	}
}

func (c *campaign) showStatus(working context.Context) {
	now := c.now() // also without Live, because inWorld sees in it that virtual time advances
	if c.opt.Live == nil {
		return
	}
	stage := "working"
	switch {
	case c.visiting.Load():
		stage = "final check of every key"
	case working.Err() != nil:
		stage = "ending all faults"
	}
	c.opt.Live(Status{
		Stage: stage, Elapsed: now, Limit: c.s.TimeLimit, Granted: int(c.granted.Load()),
		Faults: c.nemesis.Active(), Violations: c.watch.Violations() + int(c.violations.Load()),
	})
}
