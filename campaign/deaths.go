package campaign

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// deathsEvery is how often masters are asked whether they have died, so a death is recorded at
// most that much late.
const deathsEvery = 50 * time.Millisecond

// watchDeaths records deaths of masters that the nemesis did not cause, until ctx ends. A
// master that another program killed, or that ended by itself, is not a fault that the lock was
// meant to survive.
func (c *campaign) watchDeaths(ctx context.Context) {
	for c.runtime.Sleep(ctx, deathsEvery) == nil {
		c.recordDeaths()
	}
}

func (c *campaign) recordDeaths() {
	down := 0
	for _, m := range c.masters.Masters() {
		mortal, ok := m.(cluster.Mortal)
		if !ok {
			continue
		}
		if what := mortal.Died(); what != "" {
			c.recorder.Record(history.Op{Process: m.Name(), Type: history.Info, F: history.FDied, Error: what})
		}
		if m.State() == cluster.Down {
			down++
		}
	}
	// Nobody starts these masters again, and without a majority no lock can be acquired.
	if stop := c.stopVisits.Load(); stop != nil && c.s.Masters-down < c.s.Masters/2+1 {
		(*stop)(errNoMajority)
	}
}

var errNoMajority = errors.New("a majority of masters died, and no fault did that")

// foreignDeaths reports masters that died although no fault ended them.
func foreignDeaths(ops []history.Op) []string {
	var notes []string
	for i := range ops {
		if op := &ops[i]; op.F == history.FDied {
			notes = append(notes, fmt.Sprintf("master %s died at %.1fs: %s; what depends on it proves nothing about the lock", op.Process, op.Time.Seconds(), op.Error))
		}
	}
	return notes
}
