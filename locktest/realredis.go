//go:build !windows

package locktest

import (
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/cluster/process"
)

// realRedis skips the test on a machine without redis-server.
func realRedis(t testing.TB) {
	t.Helper()
	if ok, why := process.Available(t.Context()); !ok {
		t.Skipf("locktest: RealRedis: %s", why)
	}
}

// processes is the driver of redis-server processes, in real time.
var processes = campaign.Driver{Name: scenario.Process, Lend: campaign.Starting(process.Start)}
