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

// Enact runs a scenario on masters that exist, as Run does on those that it starts, and returns
// its history, of which nothing is written. Clients dial through the masters, if those have a
// DialContext: they are in memory then, in a testing/synctest bubble, in which time is virtual,
// and Enact does not watch how much of it the machine takes. The scenario must be complete and
// free of problems (WithRequirements, Check). Enact does not close the masters.
//
// recording is called with the recorder before anything is recorded; it may be nil.
func Enact(ctx context.Context, s scenario.Scenario, masters cluster.Cluster, recording func(*history.Recorder)) (*history.History, error) {
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
		c.observe() // nobody else looks
	}
	if recording != nil {
		recording(c.recorder)
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
