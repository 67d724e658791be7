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
	"lockpick/workload"
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
	_, c.enacted = masters.(dialer)
	c.runtime = realTime{panicked: c.fail}
	c.start = c.runtime.Now()
	c.recorder = history.NewMemory(headerOf(&s, masters, workload.Hello{}, "", time.Now()), c.now)
	if s.StopOnViolation {
		c.observe() // only then are violations needed during the run
	}
	if err := c.run(); err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	return c.recorder.History(), nil
}

// dialer is a cluster whose masters can be reached only through its DialContext.
type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}
