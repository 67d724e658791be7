package campaign

import (
	"os"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
)

// command is this test's program as a client process: TestMain makes it one.
var command = []string{"env", "LOCKPICK_TEST_CLIENT=1", os.Args[0]}

// TestFaultsBelowRedis: what the debate about Redlock is about. Each scenario runs on
// simulated masters and on processes, those marked so also on Docker.
func TestFaultsBelowRedis(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		docker bool
		change func(*scenario.Scenario)
		want   []string
		says   string // in the first violation's reason
	}{
		"everysec and a power cut": {
			docker: true, want: []string{"L2 violated"}, says: "lost power",
			change: func(s *scenario.Scenario) {
				s.Persistence = "everysec"
				onTheVoteOfM3(s, "powercut", "any acquires k0")
			},
		},
		"always and a power cut": {
			docker: true, want: []string{"L2 holds", "AV holds"},
			change: func(s *scenario.Scenario) { s.Persistence, s.Faults = "always", []string{"powercut"} },
		},
		"always, a power cut and a disk that lies": {
			want: []string{"L2 violated"}, says: "lost power",
			change: func(s *scenario.Scenario) { s.Persistence, s.Faults = "always", []string{"lying-fsync", "powercut"} },
		},
		"a clock that jumps forward": {
			docker: true, want: []string{"L2 violated"}, says: "jumped forward by 60s",
			change: func(s *scenario.Scenario) { s.Persistence, s.Faults, s.Clock = "always", []string{"clock"}, "+60s" },
		},
		"clocks that drift within the allowance": {
			want: []string{"L2 holds", "AV holds"},
			change: func(s *scenario.Scenario) {
				s.Persistence, s.Faults, s.Clock, s.Hold = "always", []string{"clock"}, "x1.005", "0s..2s"
			},
		},
		"clocks that drift far beyond it": {
			want: []string{"L2 violated"}, says: "at 1.5 times the true rate",
			change: func(s *scenario.Scenario) {
				s.Persistence, s.Faults, s.Clock, s.TTL, s.Interval, s.Hold = "always", []string{"clock"}, "x1.5", 2*time.Second, 0, "1500ms..2s"
			},
		},
		"a failover before replication": {
			want: []string{"L2 violated"}, says: "replaced by a replica",
			change: func(s *scenario.Scenario) {
				s.Persistence, s.TTL, s.Hold = "always", 2*time.Second, "1s..2s"
				onTheVoteOfM3(s, "failover", "any releases k0")
			},
		},
		"a failover to the replica that has not acknowledged, one of two having": {
			want: []string{"L2 violated"}, says: "replaced by a replica",
			change: func(s *scenario.Scenario) {
				s.Persistence, s.TTL, s.Hold, s.Replicas, s.Wait, s.Timeout = "always", 2*time.Second, "1s..2s", 2, 1, 200*time.Millisecond
				s.TimeLimit = 10 * time.Minute // usually the other replica has the grant, too
				onTheVoteOfM3(s, "failover", "any releases k0")
			},
		},
		"memory pressure and allkeys-lru": {
			want: []string{"L2 violated"}, says: "may evict a key",
			change: func(s *scenario.Scenario) { s.Faults, s.Eviction = []string{"memory"}, "allkeys-lru" },
		},
		"a client whose clock is slow": {
			want: []string{"L2 violated"}, says: "clock was changed",
			change: func(s *scenario.Scenario) {
				s.Faults, s.ClientRate, s.Hold, s.LongHolds, s.Extend = []string{"client-clock"}, 0.3, "4s..5s", 0, 0
				s.Schedule = []scenario.Step{{Fault: "client-clock", After: "any enters any", Clients: []string{"all"}, Rate: 0.3, For: time.Minute}}
			},
		},
		"clients that end in their sections": {
			want:   []string{"L2 holds", "L4 holds", "DF holds"},
			change: func(s *scenario.Scenario) { s.Faults = []string{"client-kill"} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why := "shown with processes; Docker is tried with the scenarios marked for it"
			if c.docker {
				why = ""
			}
			exceptOnDocker(t, why, func(t *testing.T, driver string) {
				_, r := mustShow(t, shortScenario(driver, func(s *scenario.Scenario) {
					if c.want[0] == "L2 violated" {
						untilBroken(s)
					}
					c.change(s)
				}), c.want...)
				if v := verdictAt(r, "L2"); c.says != "" && len(v.Violations) > 0 {
					if reason := strings.Join(v.Violations[0].Reason, "\n"); !strings.Contains(reason, c.says) {
						t.Errorf("the reason does not say %q:\n%s", c.says, reason)
					}
				}
				if r.Counts.TookEffect == 0 {
					t.Error("no fault bit")
				}
			})
		})
	}
}

// TestWaitForAll: a lock that waits for all replicas is granted nothing that a failover
// could lose.
func TestWaitForAll(t *testing.T) {
	t.Parallel()
	exceptOnDocker(t, "shown with processes", func(t *testing.T, driver string) {
		_, r := mustShow(t, shortScenario(driver, func(s *scenario.Scenario) {
			s.Persistence, s.Faults, s.Replicas, s.Wait, s.Timeout = "always", nil, 2, 2, 200*time.Millisecond
			s.Schedule = []scenario.Step{{Fault: "failover", After: "any enters any", Masters: []string{"holders"}, Repeat: true}}
			s.Hold, s.TimeLimit = "50ms..200ms", 20*time.Second
		}), "L2 holds")
		if r.Counts.TookEffect == 0 {
			t.Error("no failover bit")
		}
	})
}

// TestClockJumpsBack: L2 holds, and that a key outlives its TTL is reported.
func TestClockJumpsBack(t *testing.T) {
	t.Parallel()
	s, err := scenario.Load("../examples/clock-jumps-back.yaml")
	if err != nil {
		t.Fatal(err)
	}
	exceptOnDocker(t, "shown with processes", func(t *testing.T, driver string) {
		s := s
		s.Driver, s.TimeLimit, s.Hold = driver, 18*time.Second, "50ms..200ms" // enough leases for a verdict in what the clocks leave
		_, r := mustShow(t, s, "L1 violated", "L2 holds", "DF holds")
		if v := violatedAt(r, "L1"); v != nil && len(v.Violations) > 0 && !strings.Contains(strings.Join(v.Violations[0].Reason, "\n"), "jumped back by 10s") {
			t.Errorf("%v", v.Violations[0].Reason)
		}
	})
}

// TestSuspend: a client that is stopped and whose monotonic clock does not count that
// relies on a lease that is over, as L2 shows; one whose clock goes on only believes in its
// section (the catalogue's claims 29 and 50).
func TestSuspend(t *testing.T) {
	t.Parallel()
	suspended, err := scenario.Load("../examples/suspended-client.yaml")
	if err != nil {
		t.Fatal(err)
	}
	paused := suspended
	paused.Schedule = paused.Schedule[:1]
	for name, c := range map[string]struct {
		s    scenario.Scenario
		want []string
	}{
		"suspended": {suspended, []string{"L2 violated", "L4 violated"}},
		"paused":    {paused, []string{"L2 holds", "L4 violated"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exceptOnDocker(t, "these faults strike clients, which are the same on all drivers: shown with processes", func(t *testing.T, driver string) {
				s := c.s
				s.Driver, s.TimeLimit = driver, 15*time.Second
				_, r := mustShow(t, s, c.want...)
				if r.Counts.TookEffect != len(s.Schedule) {
					t.Errorf("%d faults bit", r.Counts.TookEffect)
				}
			})
		})
	}
}

// TestRestartExample: the example of a restart breaks the lock every time.
func TestRestartExample(t *testing.T) {
	t.Parallel()
	s, err := scenario.Load("../examples/restart-without-persistence.yaml")
	if err != nil {
		t.Fatal(err)
	}
	onEachDriver(t, func(t *testing.T, driver string) {
		s := s
		s.Driver = driver
		mustShow(t, s, "L2 violated")
	})
}
