package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/cluster/sim"
	"lockpick/cluster/sim/world"
	"lockpick/history"
)

// SimulateOptions are the options of a simulation, in addition to the scenario.
type SimulateOptions struct {
	Choices  world.Choices  // nil: drawn from the scenario's seed
	Strategy world.Strategy // nil: the scenario's scheduler

	Source func(seed, stream uint64) rand.Source // random source of clients and nemesis; nil: PCG

	Pool *Pool // memory to reuse; nil: none

	Lint bool // record the rules of lockpick watch that the lock's commands break, as Run does
}

// Simulate runs a scenario in virtual time and returns its history without writing it, for the many runs of a
// search. With the same scenario and the same choices the driver sim records the same history, and with Lint the
// same hints. If ctx ends,
// the run ends early and in order. The scenario must be complete and valid (WithRequirements, Check). Errors
// are *judge.HarnessError, except that the scenario may need clients or a lock that cannot be simulated.
func Simulate(ctx context.Context, s scenario.Scenario, how SimulateOptions) (*history.History, error) {
	recorder, err := simulateInto(ctx, s, how, func(h history.Header, now func() time.Duration) (*history.Recorder, error) {
		if how.Pool != nil {
			return history.NewPooled(h, now, how.Pool.history), nil
		}
		return history.NewMemory(h, now), nil
	})
	if err != nil {
		return nil, err
	}
	return recorder.History(), nil
}

// simulateInto does the same as Simulate with the recorder that record returns.
func simulateInto(ctx context.Context, s scenario.Scenario, how SimulateOptions, record func(history.Header, func() time.Duration) (*history.Recorder, error)) (*history.Recorder, error) {
	if how.Choices == nil {
		how.Choices = world.NewRandom(s.Seed)
	}
	pool := how.Pool
	if pool == nil {
		pool = NewPool()
		defer pool.Close()
	}
	w := pool.world.NewWorld(s.Seed, how.Choices)
	w.Strategy = how.Strategy
	c := &campaign{s: s, outer: ctx, source: how.Source, linted: how.Lint, opt: Options{Progress: func(string, ...any) {}}}
	if err := c.simulated(w, s.Config()); err != nil {
		return nil, err
	}
	err := c.inWorld(w, func() error { return c.record("", world.Epoch, record) })
	if c.frozen.Load() {
		pool.abandon()
	} else {
		err = errors.Join(err, c.masters.Close())
		pool.world.Reclaim(w)
	}
	if err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	return c.recorder, nil
}

// simulated creates the campaign's masters and runtime in a simulated world.
func (c *campaign) simulated(w *world.World, cfg cluster.Config) error {
	if err := c.s.CheckSimulated(); err != nil {
		return err
	}
	if c.s.UsesProcesses() {
		return errors.New("clients that are processes need real masters, and there are none here: run without --clients-as processes")
	}
	if c.s.Connects() {
		return &scenario.Problem{Field: "driver", Says: fmt.Sprintf("the lock %s connects to its masters, and those of %s cannot be connected to: choose %s", c.s.Lock, scenario.Sim, scenario.Virtual)}
	}
	w.Limit = c.s.TimeLimit + 24*time.Hour + 10*c.s.TTL
	if w.Strategy == nil {
		w.Strategy = strategyOf(&c.s)
	}
	c.virtual = true
	c.sim, c.runtime = sim.New(w, cfg, sim.Options{
		Loss: c.s.Network.Loss, Duplicate: c.s.Network.Duplicate, Late: c.s.Network.Late, LateBy: c.s.Network.LateBy,
	}), w.Runtime()
	c.masters = c.sim
	return nil
}

// pctChanges is the number of change points of a run with the scheduler pct: the known bugs of locks need two
// (one client stalls, another overtakes it), and one is spare.
const pctChanges = 3

// strategyOf returns the scheduler of the scenario, or nil for the random one.
func strategyOf(s *scenario.Scenario) world.Strategy {
	if s.Scheduler != scenario.PCT {
		return nil
	}
	// Processes take about 75 steps per second for each client (measured). With this number the
	// change points lie in the time in which the clients work.
	steps := int(60*s.TimeLimit.Seconds()*float64(s.Clients)) + 1
	stall := s.Stall
	if stall == 0 {
		stall = shortStall(s.TTL)
	}
	return &world.PCT{Changes: pctChanges, Steps: steps, Pause: stall}
}

// shortStall returns a stall so short that all change points together stay within the margin that clients
// leave before the end of a lease (workload, TTL/20). So the stalls reorder events without acting like a
// stopped client, which is a fault of its own.
func shortStall(ttl time.Duration) time.Duration { return ttl / 20 / pctChanges }
