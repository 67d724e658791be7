package campaign

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/cluster/sim/world"
	"lockpick/workload"
)

// A simulated run continues in virtual time, but a lock that blocks or computes forever without waiting
// through its runtime stops virtual time itself. A run is abandoned if its virtual time stands still in
// world.StandstillLooks checks in a row, this real time apart.
var standstillEvery = world.StandstillEvery

var errWorldEnds = errors.New("the run is over")

// inWorld runs f as the first coroutine of the simulated world. When f returns, it ends the world, with everything that
// still hangs in it. If virtual time stands still, inWorld records the calls of locks that cause it as hung,
// and abandons the world, because nothing can end such a call.
func (c *campaign) inWorld(f func() error) error {
	w := c.sim.world
	over := make(chan error, 1)
	go func() {
		var failure error
		err := w.Run(func() {
			failure = f()
			w.Stop(errWorldEnds)
		})
		if errors.Is(err, errWorldEnds) {
			err = nil
		}
		over <- errors.Join(err, failure)
	}()
	tick := time.NewTicker(standstillEvery)
	defer tick.Stop()
	var stuck []workload.Stuck
	still := world.Standstill{Every: standstillEvery}
	for {
		select {
		case err := <-over:
			return err
		case <-tick.C:
		}
		looks, counts := still.Check(c.seen.Load())
		if looks == 0 || !counts {
			continue
		}
		if looks > ignoredLooks && c.ignored() {
			c.sim.frozen.Store(true)
			return c.ignorant("it waits, but not through its Runtime")
		}
		// A call is the cause only if it is running in each check of the second half: if much happens in one
		// instant, each check finds another call.
		if looks == world.StandstillLooks/2 {
			stuck = c.stuck()
		} else if looks > world.StandstillLooks/2 {
			now := c.stuck()
			stuck = slices.DeleteFunc(stuck, func(s workload.Stuck) bool {
				return !slices.ContainsFunc(now, func(n workload.Stuck) bool { return n.Client == s.Client && n.Call == s.Call })
			})
		}
		stood := time.Duration(looks) * standstillEvery
		switch {
		case looks >= world.StandstillLooks && len(stuck) > 0:
			c.sim.frozen.Store(true)
			for _, s := range stuck {
				c.work.Load().RecordStuck(s, stood)
			}
			c.recorder.Seal()
			return nil
		case looks >= 60*world.StandstillLooks:
			c.sim.frozen.Store(true)
			return fmt.Errorf("the simulation stood still for %v of real time, and no lock is to blame", stood)
		}
	}
}

// stuck returns the calls of locks that may make virtual time stand still: those that are running, except
// while they record something.
func (c *campaign) stuck() []workload.Stuck {
	w := c.work.Load()
	if w == nil {
		return nil
	}
	return slices.DeleteFunc(w.Stuck(), func(s workload.Stuck) bool {
		return slices.ContainsFunc(s.Stack.Frames, func(f string) bool { return strings.HasPrefix(f, "lockpick/history.") })
	})
}

// now returns the time since the start of the run. It is constant in a world that was abandoned.
func (c *campaign) now() time.Duration {
	if c.sim != nil && c.sim.frozen.Load() {
		return time.Duration(c.seen.Load())
	}
	t := c.runtime.Now().Sub(c.start)
	c.seen.Store(int64(t))
	return t
}
