//go:build real

package campaign

import (
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
)

// TestOnOtherServers: masters are other servers than redis-server, which are killed and cut off. The run names
// the server as it names itself, and a correct lock that may rest on its masters' disks is not convicted.
func TestOnOtherServers(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"valkey-server", "redict-server", "keydb-server"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			if _, why, err := testDrivers.Choose(t.Context(), scenario.Process, cluster.Software{Server: server}); err != nil {
				t.Skip(err, why)
			}
			h, r := mustRun(t, shortScenario(scenario.Process, func(s *scenario.Scenario) {
				s.Server, s.Persistence, s.Faults = server, string(cluster.Always), []string{"kill", "partition"}
				s.RestartDelay, s.TimeLimit = scenario.Duration(3*time.Second), 20*time.Second
			}))
			if name, version := judge.ServerOf(r.Versions); name+"-server" != server || version == "" {
				t.Errorf("the server is %q, version %q", name, version)
			}
			if r.Verdict() == checker.Violated {
				t.Errorf("%d operations: %s", len(h.Ops), r.Verdict())
			}
			if r.Counts.TookEffect == 0 || r.Counts.Granted == 0 {
				t.Errorf("%d faults took effect, %d leases", r.Counts.TookEffect, r.Counts.Granted)
			}
		})
	}
}
