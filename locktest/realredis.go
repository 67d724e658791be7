//go:build !windows

package locktest

import (
	"context"
	"errors"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/cluster/process"
	"lockpick/history"
)

// realRedis skips the test on a machine without redis-server.
func realRedis(t testing.TB) {
	t.Helper()
	if ok, why := process.Available(t.Context()); !ok {
		t.Skipf("locktest: RealRedis: %s", why)
	}
}

// onProcesses runs a scenario on redis-server processes, in real time.
func onProcesses(ctx context.Context, s scenario.Scenario) (h *history.History, err error) {
	s.Driver = scenario.Process
	masters, err := process.Start(ctx, s.Config())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, masters.Close()) }()
	return campaign.Enact(ctx, s, masters)
}
