package campaign

import (
	"context"
	"time"
)

// Stage is a part of a run, as people read it.
type Stage string

// The stages of a run, in their order.
const (
	Working      Stage = "working"                  // clients use the lock while the nemesis injects faults
	EndingFaults Stage = "ending all faults"        // and clients still use the lock
	FinalCheck   Stage = "final check of every key" // every client acquires every key once
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
	stage := Working
	switch {
	case c.visiting.Load():
		stage = FinalCheck
	case working.Err() != nil:
		stage = EndingFaults
	}
	c.opt.Live(Status{
		Stage: stage, Elapsed: now, Limit: c.s.TimeLimit, Granted: int(c.granted.Load()),
		Faults: c.nemesis.Active(), Violations: c.watch.Violations(), Stopping: c.stopping.Load(),
	})
}
