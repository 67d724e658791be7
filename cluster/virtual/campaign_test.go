package virtual_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/cluster/virtual"
	"lockpick/history"
)

// on lends masters that exist.
func on(masters cluster.Cluster) campaign.Driver {
	return campaign.Driver{Name: scenario.Virtual, Virtual: true, Lend: func(_ context.Context, _ *scenario.Scenario, _ cluster.Config, use func(cluster.Cluster) error) error {
		return use(masters)
	}}
}

// enact runs a scenario on masters in memory.
func enact(t *testing.T, s scenario.Scenario) (h *history.History, r *judge.Result) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	s = s.WithRequirements()
	synctest.Test(t, func(t *testing.T) {
		masters := virtual.New(cluster.Config{Masters: s.Masters, Persistence: cluster.Persistence(s.Persistence), Replicas: s.Replicas}, virtual.Options{Seed: s.Seed})
		defer masters.Close()
		var err error
		if h, err = campaign.Record(context.Background(), s, on(masters), campaign.Options{}); err != nil {
			t.Fatal(err)
		}
	})
	r, err := judge.History(h)
	if err != nil {
		t.Fatal(err)
	}
	return h, r
}

// TestRedlockOverItsOwnTransport runs the lock with its real connections: it is convicted
// over masters that forget, and holds over masters that remember.
func TestRedlockOverItsOwnTransport(t *testing.T) {
	for persistence, want := range map[cluster.Persistence]checker.Verdict{cluster.None: checker.Violated, cluster.Always: checker.Holds} {
		t.Run(string(persistence), func(t *testing.T) {
			violated, granted := 0, 0
			for seed := range uint64(6) {
				s := scenario.Defaults()
				s.Driver, s.Persistence, s.Seed, s.TimeLimit, s.Clients = scenario.Virtual, string(persistence), seed, 20*time.Second, 3
				s.Faults = []string{"kill", "partition", "pause"}
				_, r := enact(t, s)
				granted += r.Counts.Granted
				v, _ := r.FirstViolation([]string{"L2"})
				if v != nil {
					violated++
				}
				if v != nil && want == checker.Holds {
					t.Errorf("seed %d: %v", seed, v)
				}
			}
			if granted == 0 || want == checker.Violated && violated == 0 {
				t.Errorf("%d leases, mutual exclusion violated in %d of 6 runs", granted, violated)
			}
			t.Logf("%d leases, violated in %d of 6 runs", granted, violated)
		})
	}
}
