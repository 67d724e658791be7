package campaign

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
	"lockpick/workload"
)

type conviction struct {
	lock     string
	property checker.Property
	change   func(*scenario.Scenario)
}

// convictions are the locks that are wrong on purpose and that a scenario shows to be: the
// property that it breaks, within a few seeds, while the twin stands the same.
var convictions = []conviction{
	// c1 reaches two masters, c2 the other three.
	{"redlock-reachable-quorum", checker.MutualExclusion, func(s *scenario.Scenario) {
		s.Clients = 2
		s.Schedule = []scenario.Step{
			{Fault: "partition", At: time.Second, For: 8 * time.Second, Clients: []string{"c1"}, Masters: []string{"m1", "m2", "m3"}, Mode: "drop"},
			{Fault: "partition", At: time.Second, For: 8 * time.Second, Clients: []string{"c2"}, Masters: []string{"m4", "m5"}, Mode: "drop"},
		}
	}},
	// The holder loses a majority, and its extensions fail.
	{"redlock-extend-lies", checker.MutualExclusion, func(s *scenario.Scenario) {
		s.Extend, s.LongHolds = 1, 1
		s.Schedule = []scenario.Step{{Fault: "partition", After: "c1 acquires k0", For: 4 * time.Second, Repeat: true, Clients: []string{"c1"}, Masters: []string{"m1", "m2", "m3"}, Mode: "drop"}}
	}},
	// Commands are so slow that an extension comes back when the lease is over, and yet in
	// time for the keys.
	{"redlock-extend-late", checker.Extension, func(s *scenario.Scenario) {
		s.Extend, s.LongHolds, s.Timeout = 1, 1, 3*time.Second
		s.Schedule = []scenario.Step{{Fault: "slow", For: 9 * time.Second, Clients: []string{"c1"}, Masters: []string{"all"}, Delay: 700 * time.Millisecond}}
	}},
	// The holder stands still for longer than its lease lasts, and then extends it, when
	// somebody else has had the lock and given it back.
	{"redlock-extend-recreates", checker.Extension, extendsLate},
	{"redlock-always-valid", checker.BeliefExclusion, func(s *scenario.Scenario) { s.Extend, s.LongHolds = 0, 1 }},
	{"redlock-setnx-expire", checker.DeadlockFree, diesBetween},
	{"redlock-get-del", checker.MutualExclusion, standsBetween(2500 * time.Millisecond)},
	{"redlock-plain-del", checker.MutualExclusion, func(*scenario.Scenario) {}},
	{"redlock-weak-token", checker.MutualExclusion, func(*scenario.Scenario) {}},
	{"redlock-wall-clock", checker.MutualExclusion, func(s *scenario.Scenario) {
		s.Hold, s.LongHolds, s.Extend = "3s..4s", 0, 0
		s.Schedule = []scenario.Step{{Fault: "client-clock", After: "any enters any", For: 8 * time.Second, Clock: "-60s"}}
	}},
	// Each client reaches half of the masters.
	{"redlock-quorum-half", checker.MutualExclusion, func(s *scenario.Scenario) {
		s.Masters, s.Clients = 4, 2
		s.Schedule = []scenario.Step{
			{Fault: "partition", At: time.Second, For: 8 * time.Second, Clients: []string{"c1"}, Masters: []string{"m1", "m2"}, Mode: "drop"},
			{Fault: "partition", At: time.Second, For: 8 * time.Second, Clients: []string{"c2"}, Masters: []string{"m3", "m4"}, Mode: "drop"},
		}
	}},
	// The masters' clocks are fast, by less than the allowance; the holder stands still.
	{"redlock-no-drift", checker.MutualExclusion, func(s *scenario.Scenario) {
		s.TimeLimit = 30 * time.Second
		s.Schedule = []scenario.Step{
			{Fault: "clock", Masters: []string{"all"}, For: 30 * time.Second, Clock: "x1.0099"},
			{Fault: "client-pause", After: "any enters any", For: 2500 * time.Millisecond, Repeat: true, Point: workload.BeforeWrite},
		}
	}},
	{"redlock-renews-untold", checker.BeliefExclusion, cutOff},
	{"setnx", checker.DeadlockFree, func(s *scenario.Scenario) {
		s.Schedule = []scenario.Step{{Fault: "client-kill", At: time.Second, For: 5 * time.Second, Clients: []string{"c1"}, Point: workload.BeforeWrite}}
	}},
	{"setnx-expire", checker.DeadlockFree, diesBetween},
	{"set-del", checker.MutualExclusion, standsInside},
	{"set-get-del", checker.MutualExclusion, standsBetween(2500 * time.Millisecond)},
	{"redlock-time-token", checker.MutualExclusion, func(*scenario.Scenario) {}},
	{"redlock-late-start", checker.MutualExclusion, slowAndStands},
	{"redlock-fence-incr", checker.FencingMonotone, func(s *scenario.Scenario) {
		s.Fencing = true
		s.Schedule = []scenario.Step{
			{Fault: "partition", For: 2 * time.Second, Masters: []string{"m4", "m5"}, Clients: []string{"all"}, Mode: "drop"},
			{Fault: "partition", At: 3 * time.Second, For: 5 * time.Second, Masters: []string{"m1", "m2"}, Clients: []string{"all"}, Mode: "drop"},
		}
	}},
	{"rw-short-reader", checker.MutualExclusion, func(*scenario.Scenario) {}},
	{"rw-reader-frees-writer", checker.MutualExclusion, standsBeforeEntering},
	{"rw-downgrade-gap", checker.MutualExclusion, standsBetween(300 * time.Millisecond)},
	{"rw-upgrade-joins", checker.MutualExclusion, func(*scenario.Scenario) {}},
	{"semaphore-declared-anew", checker.MutualExclusion, func(*scenario.Scenario) {}},
	{"semaphore-returned-twice", checker.MutualExclusion, standsBeforeEntering},
	{"reentrant-inner-frees", checker.MutualExclusion, func(*scenario.Scenario) {}},
	{"reentrant-inner-shortens", checker.MutualExclusion, func(s *scenario.Scenario) { s.LongHolds = 1 }},
	// Two clients hold a key each, and wait for the other's until the keys expire.
	{"multi-waits-holding", checker.Progress, func(s *scenario.Scenario) { s.TTL, s.Keys, s.Hold, s.LongHolds = 6*time.Second, 2, "0s..500ms", 0 }},
	{"multi-forgets-keys", checker.OrphanKeys, func(*scenario.Scenario) {}},
	{"multi-key-missing", checker.MutualExclusion, func(*scenario.Scenario) {}},
	{"multi-extends-first", checker.MutualExclusion, func(s *scenario.Scenario) { s.Hold, s.LongHolds, s.Extend, s.Clients, s.Keys = "3s..4s", 0, 1, 4, 2 }},
	// Between the quorum and the PEXPIRE the client stands still for longer than its keys last.
	{"redisson-redlock", checker.MutualExclusion, standsBetween(4500 * time.Millisecond)},
	{"redisson-watchdog", checker.BeliefExclusion, cutOff},
	{"redlock-extend-acquires", checker.MutualExclusion, func(s *scenario.Scenario) { s.Extend, s.LongHolds = 1, 0.5 }},
	// A lock that was waited for longer than a TTL is never granted.
	{"redlock-one-start", checker.QuorumGranted, func(s *scenario.Scenario) {
		s.Hold, s.LongHolds, s.Extend, s.TimeLimit = "4s..6s", 0, 1, 20*time.Second
	}},
	// Replies are lost: SETs were carried out where nobody believes it.
	{"redlock-release-believed", checker.OrphanKeys, func(s *scenario.Scenario) {
		s.Schedule = []scenario.Step{{Fault: "partition", After: "any acquires any", Repeat: true, For: 300 * time.Millisecond, Masters: []string{"m4", "m5"}, Clients: []string{"all"}, Mode: "drop", Direction: "replies"}}
	}},
	{"redlock-no-rollback", checker.OrphanKeys, func(*scenario.Scenario) {}},
	{"redlock-minority-error", checker.QuorumGranted, oneDown("kill")},
	{"redlock-release-overtakes", checker.OrphanKeys, func(s *scenario.Scenario) {
		s.Timeout = 400 * time.Millisecond
		s.Schedule = []scenario.Step{{Fault: "slow", After: "any releases any", Repeat: true, For: 100 * time.Millisecond, Masters: []string{"minority"}, Delay: 150 * time.Millisecond}}
	}},
	{"redlock-renews-forever", checker.HolderLoss, func(s *scenario.Scenario) {
		s.TimeLimit = 40 * time.Second
		s.Schedule = []scenario.Step{{Fault: "client-pause", At: time.Second, For: 38 * time.Second, Clients: []string{"c1"}, Point: workload.BeforeWrite}}
	}},
	{"redlock-waits-for-all", checker.MinorityFailure, oneDown("pause")},
	{"set-broken-lua", checker.OrphanKeys, func(*scenario.Scenario) {}},
	{"redlock-evalsha", checker.OrphanKeys, func(s *scenario.Scenario) {
		s.Persistence = "always"
		s.Schedule = []scenario.Step{{Fault: "kill", After: "any enters any", Repeat: true, For: 50 * time.Millisecond, Masters: []string{"m1", "m2", "m3"}}}
	}},
	{"setnx", checker.HolderLoss, func(s *scenario.Scenario) {
		s.TimeLimit = 40 * time.Second
		s.Schedule = []scenario.Step{{Fault: "client-kill", At: time.Second, For: 38 * time.Second, Clients: []string{"c1"}, Point: workload.BeforeWrite}}
	}},
	{"redlock-plain-del", checker.OwnKeys, func(*scenario.Scenario) {}},
	{"redlock-weak-token", checker.OwnKeys, func(*scenario.Scenario) {}},
	{"redlock-time-token", checker.OwnKeys, func(*scenario.Scenario) {}},
	{"redlock-extend-recreates", checker.Continuity, extendsLate},
	{"redlock-always-valid", checker.Notified, func(s *scenario.Scenario) { s.Extend, s.LongHolds = 0, 1 }},
	{"redlock-renews-untold", checker.Notified, cutOff},
	{"redlock-late-start", checker.MinValidity, slowAndStands},
	{"set-get-del", checker.OwnKeys, standsBetween(2500 * time.Millisecond)},
	{"set-del", checker.OwnKeys, standsInside},
	{"redlock-get-del", checker.OwnKeys, standsBetween(2500 * time.Millisecond)},
	// Clients that reach two masters give up in the middle of an attempt.
	{"redlock-cancelled-release", checker.OrphanKeys, func(s *scenario.Scenario) {
		s.Clients, s.Keys, s.TTL, s.TimeLimit, s.Hold = 4, 4, time.Second, 20*time.Second, "0s..300ms"
		s.Schedule = []scenario.Step{{Fault: "partition", At: 500 * time.Millisecond, Clients: []string{"c1", "c2", "c3"}, Masters: []string{"m3", "m4", "m5"}, For: time.Minute}}
	}},
	{"redisson-late-watchdog", checker.OwnKeys, func(*scenario.Scenario) {}},
	{"set-driver-retries", checker.OrphanKeys, func(s *scenario.Scenario) {
		s.Schedule = []scenario.Step{{Fault: "partition", After: "any releases any", Repeat: true, For: 20 * time.Millisecond, Masters: []string{"m1"}, Clients: []string{"all"}, Mode: "drop", Direction: "replies"}}
	}},
	{"redisson-resending", checker.Availability, func(s *scenario.Scenario) {
		s.Schedule = []scenario.Step{{Fault: "partition", After: "any releases any", Repeat: true, For: 20 * time.Millisecond, Masters: []string{"majority"}, Clients: []string{"all"}, Mode: "drop", Direction: "replies"}}
	}},
	{"redlock-one-token", checker.MutualExclusion, func(s *scenario.Scenario) {
		s.Persistence = "always"
		s.Schedule = []scenario.Step{{Fault: "kill", After: "any enters any", Repeat: true, For: 50 * time.Millisecond, Masters: []string{"all"}}}
	}},
	{"redisson-redlock", checker.OwnKeys, standsBetween(4500 * time.Millisecond)},
	{"fair-one-token", checker.MutualExclusion, pausesFirst},
	{"fair-barging", checker.Fairness, func(*scenario.Scenario) {}},
	{"redlock-missed-wakeup", checker.WakeUp, func(s *scenario.Scenario) { s.Clients = 2 }},
	{"redlock-renews-blindly", checker.MutualExclusion, cutOff},
	// Masters fail for a moment, one after the other, until clients ask fewer than a quorum.
	{"redlock-drops-masters", checker.Availability, func(s *scenario.Scenario) {
		s.Persistence = "always"
		s.Schedule = []scenario.Step{{Fault: "kill", At: 3 * time.Second, For: time.Second, Masters: []string{"majority"}}}
	}},
	{"redlock-release-unchecked", checker.Released, func(s *scenario.Scenario) {
		s.Hold, s.LongHolds, s.Extend = "100ms..300ms", 0, 0
		s.Schedule = []scenario.Step{{Fault: "partition", After: "c1 enters any", Repeat: true, For: 800 * time.Millisecond, Clients: []string{"c1"}, Masters: []string{"all"}, Mode: "drop"}}
	}},
	{"redlock-whole-seconds", checker.MutualExclusion, func(s *scenario.Scenario) { s.TTL = 1870 * time.Millisecond }},
	{"redlock-extends-whole-seconds", checker.MutualExclusion, func(s *scenario.Scenario) {
		s.TTL, s.Hold, s.LongHolds, s.Extend = 1840*time.Millisecond, "500ms..3s", 0, 1
	}},
	{"redlock-ttl-overflows", checker.MutualExclusion, func(s *scenario.Scenario) {
		s.TTL, s.Hold, s.LongHolds, s.Extend, s.TimeLimit = 4294968*time.Second, "0s..3s", 0, 0, 30*time.Second
	}},
	{"redlock-key-cut", checker.OrphanKeys, oddNames},
	{"redlock-key-braces", checker.OrphanKeys, oddNames},
	{"redlock-abandons", checker.Progress, givesUp},
	{"redlock-local-mutex", checker.Availability, givesUp},
	{"redlock-renews-patiently", checker.MutualExclusion, cutOff},
	{"redlock-tells-late", checker.Notified, cutOff},
	{"redlock-one-waiter", checker.WakeUp, used(workload.ShareLock)},
	// Neither odd names nor an odd TTL show it alone (TestTwoCausesAtOnce).
	{"redlock-quoted-seconds", checker.MutualExclusion, quotedAndOdd},
	// Each client is near to other masters, and all ask at once.
	{"redlock-no-delay", checker.Progress, func(s *scenario.Scenario) {
		s.Hold, s.LongHolds, s.Extend, s.Timeout, s.Network = "100ms..300ms", 0, 0, 200*time.Millisecond, scenario.Network{Apart: 20 * time.Millisecond}
	}},
	{"redlock-shared-token", checker.MutualExclusion, used(workload.ShareLock, workload.ReleaseTwice)},
	{"redlock-process-token", checker.MutualExclusion, used(workload.ShareProcess)},
	{"redlock-extend-released", checker.OrphanKeys, used(workload.ExtendAfterRelease)},
	{"redlock-own-is-granted", checker.MutualExclusion, used(workload.AcquireAgain)},
	{"redlock-reuses-cancelled", checker.MutualExclusion, used(workload.CancelRelease)},
}

// oddNames gives the keys odd names.
func oddNames(s *scenario.Scenario) {
	s.Usage, s.Keys, s.Clients, s.Hold, s.LongHolds = []string{string(workload.OddNames)}, 14, 6, "0s..300ms", 0
}

// quotedAndOdd gives the keys odd names, and a TTL that is not a whole number of seconds.
func quotedAndOdd(s *scenario.Scenario) {
	oddNames(s)
	s.TTL, s.LongHolds, s.Extend, s.Clients = 1870*time.Millisecond, 0.5, 0, 14
}

// TestTwoCausesAtOnce: each cause alone does not show b56.
func TestTwoCausesAtOnce(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	for name, alone := range map[string]func(*scenario.Scenario){
		"odd names":  func(s *scenario.Scenario) { s.TTL = 2 * time.Second },
		"an odd TTL": func(s *scenario.Scenario) { s.Usage = nil },
	} {
		for seed := uint64(1); seed <= twinSeeds; seed++ {
			r := simulatedWith(t, "redlock-quoted-seconds", seed, func(s *scenario.Scenario) { quotedAndOdd(s); alone(s) })
			for _, v := range r.Verdicts {
				if v.Verdict == checker.Violated {
					t.Errorf("%s, seed %d: %s: %s", name, seed, v.Name, v.Why)
				}
			}
		}
	}
}

// givesUp has callers give up near the grant.
func givesUp(s *scenario.Scenario) {
	s.Usage, s.Hold, s.LongHolds, s.TimeLimit = []string{string(workload.GiveUp)}, "0s..200ms", 0, 15*time.Second
}

// used has clients use the lock so.
func used(usages ...workload.Usage) func(*scenario.Scenario) {
	return func(s *scenario.Scenario) {
		for _, u := range usages {
			s.Usage = append(s.Usage, string(u))
		}
		s.Clients, s.Hold = 8, "0s..500ms"
	}
}

// standsBetween stops c1 between two commands for so long.
func standsBetween(d time.Duration) func(*scenario.Scenario) {
	return func(s *scenario.Scenario) {
		s.Schedule = []scenario.Step{{Fault: "client-pause", At: time.Second, For: d, Clients: []string{"c1"}, Point: workload.BetweenCommands}}
	}
}

// diesBetween ends c1 between two commands.
func diesBetween(s *scenario.Scenario) {
	s.Schedule = []scenario.Step{{Fault: "client-kill", At: time.Second, For: 5 * time.Second, Clients: []string{"c1"}, Point: workload.BetweenCommands}}
}

// standsBeforeEntering stops c1, who has been granted the lock, for longer than a TTL.
func standsBeforeEntering(s *scenario.Scenario) {
	s.TimeLimit = 30 * time.Second
	s.Schedule = []scenario.Step{{Fault: "client-pause", After: "c1 acquires k0", For: 2500 * time.Millisecond, Repeat: true, Clients: []string{"c1"}, Point: workload.BeforeEnter}}
}

// standsInside stops c1 before its writes for longer than a TTL.
func standsInside(s *scenario.Scenario) {
	s.Schedule = []scenario.Step{{Fault: "client-pause", After: "c1 enters k0", For: 2500 * time.Millisecond, Repeat: true, Clients: []string{"c1"}, Point: workload.BeforeWrite}}
}

// pausesFirst pauses the first master again and again: SETs and releases that clients gave up
// on are carried out afterwards.
func pausesFirst(s *scenario.Scenario) {
	s.Schedule = []scenario.Step{{Fault: "pause", After: "any releases any", Repeat: true, For: 300 * time.Millisecond, Masters: []string{"m1"}}}
}

// cutOff cuts c1 from all masters while it is inside.
func cutOff(s *scenario.Scenario) {
	s.LongHolds = 1
	s.Schedule = []scenario.Step{{Fault: "partition", After: "c1 enters k0", For: 4 * time.Second, Repeat: true, Clients: []string{"c1"}, Masters: []string{"all"}, Mode: "drop"}}
}

// extendsLate stops c1 before its writes for longer than a TTL, after which it may extend, when
// another has had the lock and given it back.
func extendsLate(s *scenario.Scenario) {
	s.Clients, s.Extend, s.LongHolds, s.Hold, s.TimeLimit = 2, 1, 0, "0s..100ms", 20*time.Second
	s.Schedule = []scenario.Step{{Fault: "client-pause", After: "c1 enters k0", For: 3 * time.Second, Repeat: true, Clients: []string{"c1"}, Point: workload.BeforeWrite}}
}

// slowAndStands has the replies to c1 come late, and stops it before its writes.
func slowAndStands(s *scenario.Scenario) {
	s.Timeout = time.Second
	s.Schedule = []scenario.Step{
		{Fault: "slow", For: 9 * time.Second, Clients: []string{"c1"}, Masters: []string{"all"}, Delay: 300 * time.Millisecond},
		{Fault: "client-pause", After: "c1 enters k0", For: 2500 * time.Millisecond, Repeat: true, Clients: []string{"c1"}, Point: workload.BeforeWrite},
	}
}

// oneDown has a fault strike one master for most of a run.
func oneDown(fault string) func(*scenario.Scenario) {
	return func(s *scenario.Scenario) {
		s.TimeLimit = 25 * time.Second
		s.Schedule = []scenario.Step{{Fault: fault, At: time.Second, For: 20 * time.Second, Masters: []string{"m5"}}}
	}
}

// TestEveryLockIsConvicted: no lock that is wrong on purpose goes without a test of that,
// here or on masters of its own.
func TestEveryLockIsConvicted(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	misdeeds, err := os.ReadFile("../workload/planted_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range workload.Locks {
		here := slices.ContainsFunc(convictions, func(c conviction) bool { return c.lock == k.Name })
		if there := strings.Contains(string(misdeeds), `{"`+k.Name+`", "`); k.Twin != "" && !here && !there {
			t.Errorf("%s is wrong on purpose, and nothing shows that it is", k.Name)
		}
	}
}

// seeds are how many schedules a scenario gets to show what is wrong, and twinSeeds how many
// its twin must bear.
const seeds, twinSeeds = 40, 5

// TestConvictions: each of these locks is convicted of what it is there for, and its twin
// of nothing that it promises, under the same faults and seeds.
func TestConvictions(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	tried := sampletest.Of(t, 6, 2)
	for i, c := range convictions {
		if !tried(i) {
			continue
		}
		t.Run(c.lock+"/"+c.property.Name, func(t *testing.T) {
			kind, ok := workload.LockNamed(c.lock)
			if !ok {
				t.Fatal("there is no such lock")
			}
			found := uint64(0)
			for seed := uint64(1); seed <= seeds && found == 0; seed++ {
				r := simulatedWith(t, kind.Name, seed, c.change)
				if i := slices.IndexFunc(r.Verdicts, func(v checker.Result) bool { return v.Name == c.property.Name }); i >= 0 && r.Verdicts[i].Verdict == checker.Violated {
					found = seed
					t.Logf("seed %d: %s", seed, r.Verdicts[i].Why)
				}
			}
			if found == 0 {
				r := simulatedWith(t, kind.Name, 1, c.change)
				for _, v := range r.Verdicts {
					t.Logf("%s %s: %s", v.Name, v.Verdict, v.Why)
				}
				t.Errorf("%s was never violated", c.property.Name)
			}
			for seed := uint64(1); seed <= twinSeeds; seed++ {
				for _, v := range simulatedWith(t, kind.Twin, seed, c.change).Verdicts {
					paused := v.Level == "L3" || v.Level == "L4" // no lock protects who stands still in its section
					if v.Verdict == checker.Violated && (!paused || v.Name == c.property.Name) {
						t.Errorf("seed %d: %s: %s: %s", seed, kind.Twin, v.Name, v.Why)
					}
				}
			}
		})
	}
}

func simulatedWith(t *testing.T, lock string, seed uint64, change func(*scenario.Scenario)) *judge.Result {
	t.Helper()
	s := scenario.Defaults()
	s.Driver, s.Lock, s.Seed, s.Faults, s.Clients, s.TimeLimit = scenario.Sim, lock, seed, nil, 3, 10*time.Second
	change(&s)
	s = s.WithRequirements()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	h, err := Record(t.Context(), s, Simulation{}.Driver(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := judge.History(h)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
