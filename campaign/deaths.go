package campaign

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lockpick/campaign/judge"
	"lockpick/cluster"
	"lockpick/cluster/resp"
	"lockpick/history"
	"lockpick/workload"
)

// deathsEvery is the time between two checks for dead masters, so a death is recorded at most that late.
const deathsEvery = 50 * time.Millisecond

// resourcesEvery is the time between two checks of the harness's own resources: file descriptors and the
// history file.
const resourcesEvery = 500 * time.Millisecond

// watchDeaths records, until ctx ends, deaths of masters that the nemesis did not cause, masters that others elected, and steps of the
// machine's clock. It ends the run if the harness runs out of file descriptors or its history is gone. A
// master that another program killed, or that ended by itself, is not a fault that the lock was meant to
// survive.
func (c *campaign) watchDeaths(ctx context.Context) {
	clock := newHostClock(c.opt.ahead)
	looked := c.now()
	for n := 1; c.runtime.Sleep(ctx, deathsEvery) == nil; n++ {
		c.recordDeaths()
		c.recordStep(clock, looked)
		looked = c.now()
		if n%int(resourcesEvery/deathsEvery) == 0 {
			c.checkDescriptors()
			c.checkHistory()
			c.recordStrangers()
			c.checkBypass()
		}
	}
}

// checkHistory ends the run with a harness error if the history file was removed or replaced: nothing that
// happens after that could be judged.
func (c *campaign) checkHistory() {
	if c.file == nil {
		return // the history is in memory
	}
	path := filepath.Join(c.dir, judge.HistoryFile)
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, c.file) {
		c.fail(fmt.Errorf("%s was removed or replaced while the run went on, so there is nothing to judge: start the run again", path))
	}
}

// checkBypass ends the run with a harness error if a connection of the service goes past the links.
func (c *campaign) checkBypass() {
	if peered, ok := c.masters.(cluster.Peered); ok {
		if err := peered.Bypass(); err != nil {
			c.fail(err)
		}
	}
}

func (c *campaign) recordDeaths() {
	down := 0
	now := c.now()
	before := time.Duration(c.deathsAt.Swap(int64(now)))
	for _, m := range c.masters.Masters() {
		if elective, ok := m.(cluster.Elective); ok {
			if said := elective.Elected(); said != "" {
				c.recorder.Record(history.Op{Process: m.Name(), Type: history.Info, F: history.FElected, Value: &history.Value{Evidence: resp.Printable(said), Took: now - before}})
			}
		}
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
	// Nothing restarts these masters, and without a majority no lock can be acquired.
	if stop := c.stopVisits.Load(); stop != nil && c.s.Masters-down < c.s.Masters/2+1 {
		(*stop)(errNoMajority)
	}
}

// recordRefused records that a master (0 is m1) refused a command of a client, or with no command that the client's link
// to it refused a connection. evidence is history.ByRules, or "".
func (c *campaign) recordRefused(master int, client, command, reply, evidence string) {
	c.recorder.Record(history.Op{
		Process: c.masters.Masters()[master].Name(), Type: history.Info, F: history.FRefused, Error: reply,
		Value: &history.Value{Client: client, Command: command, Evidence: evidence},
	})
}

// recordDenied records that the rules of a client's user do not allow a command.
func (c *campaign) recordDenied(master int, client string, x cluster.Exchange) {
	if command := x.Denied(); command != "" && c.s.ACL != "" {
		c.recordRefused(master, client, command, x.Error, history.ByRules)
	}
}

// strangers counts the connections of other users of the machine that are recorded, by link.
type strangers struct {
	sync.Mutex
	recorded map[cluster.Link]int64
}

// recordStrangers records the connections of other users of the machine that links have refused since the last call.
func (c *campaign) recordStrangers() {
	s := &c.strangers
	s.Lock()
	defer s.Unlock()
	if s.recorded == nil {
		s.recorded = map[cluster.Link]int64{}
	}
	for _, client := range workload.Clients(c.s.Clients) {
		for i := range c.masters.Masters() {
			link, err := c.masters.Link(client, i)
			if err != nil {
				continue
			}
			for ; s.recorded[link] < link.Counts().Strangers; s.recorded[link]++ {
				c.recordRefused(i, client, "", "a connection of another user of this machine", "")
			}
		}
	}
}

var errNoMajority = errors.New("a majority of masters died, and no fault did that")

// endUnmodelled ends the run when a client sends a command that simulated masters do not know: nothing
// after it says anything about the lock.
func (c *campaign) endUnmodelled(stop func()) {
	masters, ok := c.masters.(cluster.Simulated)
	if !ok {
		return
	}
	var once sync.Once
	masters.OnUnmodelled(func(master, what string) {
		once.Do(func() {
			c.recorder.Record(history.Op{Process: master, Type: history.Info, F: history.FUnmodelled, Error: what})
			c.runtime.AfterFunc(0, stop)
		})
	})
}
