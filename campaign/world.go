package campaign

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/cluster/sim"
	"lockpick/workload"
)

// A simulated run goes on in virtual time, but a lock that blocks or computes for ever
// without waiting through its runtime stops virtual time itself. A run whose virtual time
// stands still for so many looks at it, that far apart in real time, is given up. They are
// counted, so that a machine that was suspended loses only one of them.
var (
	standstillLooks = 20
	standstillEvery = 500 * time.Millisecond
)

var errWorldEnds = errors.New("the run is over")

// inWorld runs f as the first coroutine of the world, and ends the world when f returns,
// with all that still hangs in it. If virtual time stands still, it records the calls of
// locks that do that as hung, and leaves the world to itself: nothing can end such a call.
func (c *campaign) inWorld(world *sim.World, f func() error) error {
	over := make(chan error, 1)
	go func() {
		var failure error
		err := world.Run(func() {
			failure = f()
			world.Stop(errWorldEnds)
		})
		if errors.Is(err, errWorldEnds) {
			err = nil
		}
		over <- errors.Join(err, failure)
	}()
	tick := time.NewTicker(standstillEvery)
	defer tick.Stop()
	for last, looks := c.seen.Load(), 0; ; {
		select {
		case err := <-over:
			return err
		case <-tick.C:
		}
		if now := c.seen.Load(); now != last {
			last, looks = now, 0
			continue
		}
		if looks++; looks < standstillLooks {
			continue
		}
		c.frozen.Store(true)
		return c.giveUp(time.Duration(looks) * standstillEvery)
	}
}

// giveUp records which calls of locks make virtual time stand still.
func (c *campaign) giveUp(stood time.Duration) error {
	w := c.work.Load()
	if w == nil {
		return fmt.Errorf("the simulation stood still for %v of real time before its clients began", stood)
	}
	stuck := slices.DeleteFunc(w.Stuck(), func(s workload.Stuck) bool {
		return slices.ContainsFunc(s.Stack.Frames, func(f string) bool { return strings.HasPrefix(f, "lockpick/history.") })
	})
	if len(stuck) == 0 {
		return fmt.Errorf("the simulation stood still for %v of real time, and no lock is to blame", stood)
	}
	for _, s := range stuck {
		w.RecordStuck(s, stood)
	}
	c.recorder.Seal()
	return nil
}

// now is the run's time. In a world that was given up it stands still.
func (c *campaign) now() time.Duration {
	if c.frozen.Load() {
		return time.Duration(c.seen.Load())
	}
	t := c.runtime.Now().Sub(c.start)
	c.seen.Store(int64(t))
	return t
}
