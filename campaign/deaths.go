package campaign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lockpick/campaign/judge"
	"lockpick/cluster"
	"lockpick/history"
)

// deathsEvery is how often masters are asked whether they have died, so a death is recorded at
// most that much late.
const deathsEvery = 50 * time.Millisecond

// resourcesEvery is how often the harness looks whether it still has what it needs itself.
const resourcesEvery = 500 * time.Millisecond

// watchDeaths records deaths of masters that the nemesis did not cause, until ctx ends, and ends the
// run if the harness has no file descriptors left or its history is gone. A master that another
// program killed, or that ended by itself, is not a fault that the lock was meant to survive.
func (c *campaign) watchDeaths(ctx context.Context) {
	c.announceDescriptors()
	clock := newHostClock(c.opt.ahead)
	looked := c.now()
	for n := 1; c.runtime.Sleep(ctx, deathsEvery) == nil; n++ {
		c.recordDeaths()
		c.recordStep(clock, looked)
		looked = c.now()
		if n%int(resourcesEvery/deathsEvery) == 0 {
			c.checkDescriptors()
			c.checkHistory()
		}
	}
}

// checkHistory ends the run, as an error of the harness, if somebody has removed its history or put
// another file in its place: nothing that happens after that could be judged.
func (c *campaign) checkHistory() {
	if c.file == nil {
		return // in memory
	}
	path := filepath.Join(c.dir, judge.HistoryFile)
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, c.file) {
		c.fail(fmt.Errorf("%s was removed or replaced while the run went on, so there is nothing to judge: start the run again", path))
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
