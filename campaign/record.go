package campaign

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/cluster/sim/world"
	"lockpick/history"
)

// Record runs a scenario on masters that a driver lends, and returns its history without writing it. The scenario must be
// complete and valid (WithRequirements, Check), and its clients are Lockpick's own. The same scenario on the same choices of
// a Simulation has the same history. If ctx ends, the run ends early and in order.
//
// An error of the run is a *judge.HarnessError; any other is the driver's, which may say so after the history is complete.
func Record(ctx context.Context, s scenario.Scenario, on Driver, opt Options) (h *history.History, err error) {
	recorded := make(chan *history.History, 1) // buffered: masters in memory that were given up may still end later
	err = on.Lend(ctx, &s, s.Config(), func(masters cluster.Cluster) error {
		if s.UsesProcesses() {
			return errors.New("a history in memory has no clients that are processes: run without clients_as: processes")
		}
		c := newCampaign(ctx, s, opt, on, masters)
		err := c.record("", time.Now(), func(h history.Header, now func() time.Duration) (*history.Recorder, error) {
			if c.sim != nil && c.sim.pool != nil {
				return history.NewPooled(h, now, c.sim.pool.history), nil
			}
			return history.NewMemory(h, now), nil
		})
		if err != nil {
			return &judge.HarnessError{Err: err}
		}
		recorded <- c.recorder.History()
		return nil
	})
	select {
	case h = <-recorded:
	default:
	}
	return h, err
}

// newCampaign returns a run on masters that a driver has lent.
func newCampaign(ctx context.Context, s scenario.Scenario, opt Options, on Driver, masters cluster.Cluster) *campaign {
	logging.Disable() // go-redis would log every refused connection, which the votes show already
	if opt.Progress == nil {
		opt.Progress = func(string, ...any) {}
	}
	c := &campaign{s: s, outer: ctx, opt: opt, masters: masters, virtual: on.Virtual}
	c.runtime = realTime{panicked: c.fail}
	if c.sim, _ = masters.(*simulation); c.sim != nil {
		c.runtime = c.sim.world.Runtime()
	}
	return c
}

// dialer is a cluster whose masters can be reached only through its DialContext: they are in memory.
type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// record makes the recorder with open, and runs the scenario, or the session. Every run comes through here; the masters
// and the recorder are what distinguishes runs.
func (c *campaign) record(yaml string, started time.Time, open func(history.Header, func() time.Duration) (*history.Recorder, error)) error {
	if c.sim == nil {
		return c.recordNow(yaml, started, open)
	}
	return c.inWorld(func() error { return c.recordNow(yaml, world.Epoch, open) })
}

// recordNow does so in the time in which it is called.
func (c *campaign) recordNow(yaml string, started time.Time, open func(history.Header, func() time.Duration) (*history.Recorder, error)) (err error) {
	c.start = c.runtime.Now()
	if c.recorder, err = open(headerOf(&c.s, c.masters, c.hello, yaml, started), c.now); err != nil {
		return err
	}
	if c.opt.Session != nil {
		return errors.Join(c.serve(c.opt.Session), c.recorder.Err())
	}
	if c.dir != "" || c.s.StopOnViolation { // in memory nobody else wants the counts
		c.observe()
	}
	return errors.Join(c.run(), c.recorder.Err())
}
