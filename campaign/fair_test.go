package campaign

import (
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/racetest"
	"lockpick/nemesis"
	"lockpick/workload"
)

// TestFairLockBearsPauses: a release of an attempt that the fair lock gave up on, carried out
// when a paused master goes on, does not hit the key of a later attempt. With one token for
// all attempts it does.
func TestFairLockBearsPauses(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	const schedules = 300
	violated := map[string]int{}
	for _, lock := range []string{"fair", "fair-one-token"} {
		for seed := range uint64(schedules) {
			s := scenario.Defaults()
			s.Driver, s.Lock, s.Masters, s.Seed, s.Faults, s.Clients, s.TimeLimit = scenario.Sim, lock, 1, seed, []string{"pause"}, 2+int(seed%4), 6*time.Second
			s.Nemesis = []string{scenario.Random, scenario.Guided}[seed/4%2]
			s.Interval = time.Duration(seed%7+1) * 100 * time.Millisecond
			s = s.WithRequirements()
			h, err := Record(t.Context(), s, Simulation{}.Driver(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			report := checker.Check(h, checker.MutualExclusion)
			if r := report.Result(checker.MutualExclusion); r.Verdict == checker.Violated {
				if violated[lock]++; lock == "fair" {
					t.Errorf("seed %d: %s", seed, r.Why)
				}
			}
		}
	}
	t.Logf("of %d schedules each, L2 was violated in %v", schedules, violated)
	if violated["fair-one-token"] < schedules/4 {
		t.Errorf("with one token L2 was violated in %d of %d schedules: the pauses show nothing", violated["fair-one-token"], schedules)
	}
}

// TestFairnessIsJudgedOfLocksThatClaimIt: the header of a history carries the claim of a lock, or of a client.
func TestFairnessIsJudgedOfLocksThatClaimIt(t *testing.T) {
	s := scenario.Defaults()
	for lock, want := range map[string]bool{"fair": true, "fair-barging": true, "single": false} {
		s.Lock = lock
		if got := headerFor(&s, scenario.Sim, nil, workload.Hello{}, "", time.Time{}).Fair; got != want {
			t.Errorf("%s: fair is %v in the header, want %v", lock, got, want)
		}
	}
	s.Client = []string{"./client"}
	for _, claims := range []bool{false, true} {
		if got := headerFor(&s, scenario.Process, nil, workload.Hello{Fair: claims}, "", time.Time{}).Fair; got != claims {
			t.Errorf("a client says that its lock is fair: %v, and the header says %v", claims, got)
		}
	}
}

// TestTheTimeForDeadWaitersIsAllowed: how long a client says that its lock waits for a waiter that is gone is in the header of the
// history, and a run waits that much longer for each client.
func TestTheTimeForDeadWaitersIsAllowed(t *testing.T) {
	s := scenario.Defaults()
	s.Client, s.Clients = []string{"./client"}, 3
	hello := workload.Hello{Fair: true, DeadWaiterMS: 5000}
	if got := headerFor(&s, scenario.Process, nil, hello, "", time.Time{}).DeadWaiter; got != 5*time.Second {
		t.Errorf("the header says %v", got)
	}
	bound := func(hello workload.Hello) time.Duration {
		return (&campaign{s: s, hello: hello, nemesis: &nemesis.Nemesis{}}).waitBound()
	}
	if more := bound(hello) - bound(workload.Hello{Fair: true}); more != 15*time.Second {
		t.Errorf("a free lock may take %v longer, want 15s", more)
	}
}
