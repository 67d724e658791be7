package campaign

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/cluster/sim"
	"lockpick/cluster/sim/world"
)

// Simulation lends simulated masters in virtual time. The zero value draws everything from the scenario's seed.
type Simulation struct {
	Choices  world.Choices  // nil: drawn from the scenario's seed
	Strategy world.Strategy // nil: the scenario's scheduler
	Pool     *Pool          // memory to reuse; nil: none
}

// Driver returns the driver sim. It needs only this program. Its masters run no server, and its clients can be neither
// processes nor locks that connect.
func (how Simulation) Driver() Driver {
	return Driver{Name: scenario.Sim, Virtual: true, Lend: how.lend, Available: func(_ context.Context, want cluster.Software) (bool, string) {
		if want.Server != "" {
			return false, "simulated masters run no server: leave " + want.Server + " out"
		}
		return true, "simulated masters in virtual time"
	}}
}

// simulation is the masters of a simulated world, and the world.
type simulation struct {
	*sim.Cluster
	world  *world.World
	pool   *Pool       // nil: the history's memory is not used again
	frozen atomic.Bool // the world was abandoned, so its time is constant
}

func (how Simulation) lend(_ context.Context, s *scenario.Scenario, cfg cluster.Config, use func(cluster.Cluster) error) error {
	if err := s.CheckSimulated(); err != nil {
		return err
	}
	if s.UsesProcesses() {
		return errors.New("clients that are processes need real masters, and there are none here: run without --clients-as processes")
	}
	if s.Connects() {
		return &scenario.Problem{Field: "driver", Says: fmt.Sprintf("the lock %s connects to its masters, and those of %s cannot be connected to: choose %s", s.Lock, scenario.Sim, scenario.Virtual)}
	}
	if how.Choices == nil {
		how.Choices = world.NewRandom(s.Seed)
	}
	pool := how.Pool
	if pool == nil {
		pool = NewPool()
		defer pool.Close()
	}
	w := pool.world.NewWorld(s.Seed, how.Choices)
	if w.Strategy = how.Strategy; w.Strategy == nil {
		w.Strategy = strategyOf(s)
	}
	w.Limit = s.TimeLimit + 24*time.Hour + 10*s.TTL
	x := &simulation{world: w, pool: how.Pool, Cluster: sim.New(w, cfg, sim.Options{
		Loss: s.Network.Loss, Duplicate: s.Network.Duplicate, Late: s.Network.Late, LateBy: s.Network.LateBy,
	})}
	err := use(x)
	if x.frozen.Load() {
		pool.abandon()
		return err
	}
	err = errors.Join(err, x.Close())
	pool.world.Reclaim(w)
	return err
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
