package campaign

import (
	"context"
	"errors"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim"
	"lockpick/history"
	_ "lockpick/workload/twins" // of the scripts of the locks under test
)

// Simulation is how a scenario is simulated, beside what the scenario says.
type Simulation struct {
	Choices  sim.Choices  // nil: drawn from the scenario's seed
	Strategy sim.Strategy // nil: chance alone
}

// Simulate runs a scenario in virtual time and returns its history, of which nothing is
// written: for the many runs of a search. With the same scenario and the same choices it
// is the history that the driver sim records. The end of ctx ends it early, in order.
// The scenario must be complete and free of problems (Completed, Check).
func Simulate(ctx context.Context, s Scenario, how Simulation) (*history.History, error) {
	if how.Choices == nil {
		how.Choices = sim.NewRandom(s.Seed)
	}
	world := sim.NewWorldOf(s.Seed, how.Choices)
	world.Strategy = how.Strategy
	c := &campaign{s: s, outer: ctx, opt: Options{Progress: func(string, ...any) {}}}
	if err := c.simulated(world, cluster.Config{
		Masters: s.Masters, Persistence: cluster.Persistence(s.Persistence),
		MaxMemory: s.MaxMemory, Eviction: cluster.Eviction(s.Eviction), Replicas: s.Replicas,
	}); err != nil {
		return nil, err
	}
	var failure error
	err := world.Run(func() {
		c.start = c.runtime.Now()
		c.recorder = history.NewMemory(s.header(c.masters, "", sim.Epoch), c.now)
		if s.StopOnViolation {
			c.observe() // nobody else looks
		}
		failure = c.run(context.Background()) // nothing from outside may disturb virtual time
	})
	if err := errors.Join(err, failure, c.masters.Close()); err != nil {
		return nil, &HarnessError{err}
	}
	return c.recorder.History(), nil
}

// simulated gives the campaign masters and a runtime in a world.
func (c *campaign) simulated(world *sim.World, cfg cluster.Config) error {
	if c.s.ClientsAs == Processes {
		return errors.New("clients that are processes need real masters, and there are none here: run without --clients-as processes")
	}
	world.Limit = c.s.TimeLimit + 24*time.Hour
	c.world, c.runtime = sim.New(world, cfg, sim.Options{}), world.Runtime()
	c.masters = c.world
	return nil
}
