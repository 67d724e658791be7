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
	"lockpick/history"
)

// Enact runs a scenario on masters that exist, as Run does on masters that it starts, and returns the history
// without writing it. If the masters have a DialContext, clients connect through it: then the masters are in
// memory, in a testing/synctest bubble with virtual time, and Enact does not check whether the machine is too
// slow. The scenario must be complete and valid (WithRequirements, Check). Enact does not close the masters.
//
// Errors during the run are *judge.HarnessError.
func Enact(ctx context.Context, s scenario.Scenario, masters cluster.Cluster) (*history.History, error) {
	if s.UsesProcesses() {
		return nil, errors.New("clients that are processes cannot reach masters in memory: run without clients_as: processes")
	}
	logging.Disable() // go-redis would log every refused connection, which the votes show already
	c := &campaign{s: s, outer: ctx, opt: Options{Progress: func(string, ...any) {}}, masters: masters}
	_, c.virtual = masters.(dialer)
	c.runtime = realTime{panicked: c.fail}
	err := c.record("", time.Now(), func(h history.Header, now func() time.Duration) (*history.Recorder, error) {
		return history.NewMemory(h, now), nil
	})
	if err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	return c.recorder.History(), nil
}

// record makes the recorder with open, and runs the scenario, or the session. Every run comes through here; the masters,
// the runtime and the recorder are what distinguishes runs.
func (c *campaign) record(yaml string, started time.Time, open func(history.Header, func() time.Duration) (*history.Recorder, error)) (err error) {
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

// dialer is a cluster whose masters can be reached only through its DialContext.
type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}
