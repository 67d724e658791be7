package search

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history/fault"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
	"lockpick/workload"
)

// How much TestCorrectLocksAreNeverConvicted tries: "make nightly" tries more.
var (
	alarmConfigurations = sampletest.Flag("alarm.configurations", 48, 4, 1, "random configurations of correct locks")
	alarmSchedules      = sampletest.Flag("alarm.schedules", 240, 4, 1, "schedules of all of them together")
	alarmSeed           = flag.Uint64("alarm.seed", 0, "seed of configurations and schedules; 0: a fresh one")
	alarmLock           = flag.String("alarm.lock", "", "only this lock; empty: all in turn")
	alarmUnder          = flag.String("alarm.under", "", "only the assumption whose name begins so; empty: all in turn")
	alarmDir            = flag.String("alarm.dir", "", "folder for the scenarios of false alarms; empty: lockpick-alarms among the temporary files")
)

// assumption is what a correct lock may rely on, with faults that respect it.
type assumption struct {
	name     string
	faults   []string // of which some are drawn
	sets     func(d *generator, s *scenario.Scenario)
	explicit bool               // a nemesis would break it
	except   []checker.Property // that no lock keeps under it
}

// onlyClientsThatRun says which properties need clients that do not stand still: nothing
// reaches a client that is stopped in its section, or on the way to the resource.
var onlyClientsThatRun = []checker.Property{checker.BeliefExclusion, checker.NoStaleWrite}

// assumptions cover every kind of fault.
var assumptions = []assumption{
	{name: "masters that forget nothing", faults: []string{"kill", "shutdown", "pause", "partition", "slow", "reset", "powercut", "client-kill", "slow-fsync", "full-disk"},
		sets: func(_ *generator, s *scenario.Scenario) { s.Persistence = "always" }},
	{name: "clients that stop", faults: []string{"client-pause", "client-pause", "client-kill", "kill", "partition", "pause"}, except: onlyClientsThatRun,
		sets: func(_ *generator, s *scenario.Scenario) { s.Persistence = "always" }},
	{name: "drift within the allowance", faults: []string{"clock", "client-clock", "pause", "kill"},
		sets: func(d *generator, s *scenario.Scenario) {
			s.Persistence, s.Clock, s.ClientClock = "always", "x1.003", oneOf(d, "x1.003", "x0.997")
		}},
	{name: "wall clocks of clients that step", faults: []string{"client-clock", "pause", "partition"},
		sets: func(d *generator, s *scenario.Scenario) {
			s.Persistence, s.ClientClock = "always", oneOf(d, "+60s", "-60s", "~5s")
		}},
	// A master whose clock is set back keeps keys for as long, so nobody need be granted them. A
	// nemesis sets the clock right again, which is a jump forward.
	{name: "clocks of masters that are set back", faults: []string{"clock", "partition"}, explicit: true,
		sets: func(d *generator, s *scenario.Scenario) { s.Persistence, s.Clock = "always", oneOf(d, "-1s", "-60s") },
		except: []checker.Property{
			checker.KeyLifetime, checker.DeadlockFree, checker.HolderLoss, checker.Availability, checker.MinorityFailure, checker.Progress, checker.OrphanKeys, checker.Returns,
		}},
	{name: "restarts delayed beyond the TTL", faults: []string{"kill", "shutdown", "powercut", "partition", "pause"},
		sets: func(d *generator, s *scenario.Scenario) {
			s.Persistence, s.RestartDelay = oneOf(d, "none", "rdb", "everysec"), s.TTL+s.TTL/10+50*time.Millisecond
		}},
	{name: "processes that die and disks that do not", faults: []string{"kill", "shutdown", "pause"},
		sets: func(_ *generator, s *scenario.Scenario) { s.Persistence = "everysec" }},
	{name: "fsync that lies, and power that stays", faults: []string{"lying-fsync", "kill", "pause"},
		sets: func(_ *generator, s *scenario.Scenario) { s.Persistence = "always" }},
	{name: "memory that runs out, and nothing evicted", faults: []string{"memory", "pause"},
		sets: func(_ *generator, s *scenario.Scenario) { s.Persistence, s.Eviction = "always", "noeviction" }},
	// While a failover is prepared no replica hears of anything, so no vote counts.
	{name: "failovers to replicas that have every key", faults: []string{"failover"}, except: []checker.Property{checker.MinorityFailure, checker.Progress},
		sets: func(d *generator, s *scenario.Scenario) {
			s.Persistence, s.Replicas = "always", 1+d.random.IntN(2)
			s.Wait, s.Timeout = s.Replicas, max(50*time.Millisecond, min(s.TTL/10, 200*time.Millisecond))
		}},
	{name: "no fault", sets: func(_ *generator, s *scenario.Scenario) { s.Persistence = "none" }},
}

// voteCost is how many votes a configuration may take in a schedule before it is drawn less often.
const voteCost = 30_000

// configuration draws the i-th configuration of a correct lock. Locks and assumptions take
// turns, so that few configurations have them all.
func configuration(random *rand.Rand, i int) (scenario.Scenario, *assumption) {
	locks := workload.CorrectNames()
	for {
		d := &generator{random: random}
		s := scenario.Defaults()
		s.Driver, s.Lock, s.Name = scenario.Sim, locks[i%len(locks)], fmt.Sprintf("alarm-%d", i)
		s.Masters, s.Keys, s.Clients = 2+random.IntN(8), 1+random.IntN(20), 2+random.IntN(29)
		if d.chance(0.5) { // contention
			s.Keys = 1 + random.IntN(2)
		}
		s.TTL = time.Duration(float64(100*time.Millisecond) * math.Pow(300, random.Float64())).Round(time.Millisecond)
		if votes := float64(s.Clients*s.Masters) * (3 * s.TTL.Seconds() / 0.07); !d.chance(voteCost / votes) {
			continue
		}
		s.Hold, s.LongHolds, s.Extend = hold(0, time.Duration(d.random.Float64()*float64(s.TTL))), oneOf(d, 0, 0.25), oneOf(d, 0, 0.5, 1)
		s.Nemesis, s.Interval = oneOf(d, scenario.Random, scenario.Guided), (s.TTL/4 + d.upTo(s.TTL)).Round(time.Millisecond)
		a := &assumptions[i%len(assumptions)]
		if s.Faults = nil; len(a.faults) > 0 {
			s.Faults = d.some(a.faults)
			s.Faults[0] = a.faults[i/len(assumptions)%len(a.faults)]
			slices.Sort(s.Faults)
			s.Faults = slices.Compact(s.Faults)
		}
		a.sets(d, &s)
		kind, _ := workload.LockNamed(s.Lock)
		s.Fencing = kind.Fencing && s.Persistence == "always" && s.Wait == 0 && d.chance(0.3)
		if d.chance(0.3) {
			s.Resource = workload.MarkFirst
		}
		// Those too that are judged only if they are named, but for what any late message does.
		s.Properties = slices.DeleteFunc(checker.PropertyNames(), func(p string) bool { return p == checker.GhostKeys.Name })
		s.TimeLimit = max(time.Second, s.TTL*time.Duration(2+d.random.IntN(4)))
		return s.WithRequirements(), a
	}
}

// alarm is a violation of a lock that is correct, or a verdict without evidence.
type alarm struct {
	scenario scenario.Scenario
	under    *assumption
	of       string // the property
	says     string
}

// write writes the scenario that shows the alarm again.
func (a *alarm) write(dir string) (string, error) {
	s := a.scenario
	s.Properties = []string{a.of}
	b, err := s.YAML()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%s-%s-%d.yaml", a.of, s.Lock, strings.ReplaceAll(a.under.name, " ", "-"), s.Seed))
	return path, os.WriteFile(path, b, 0o644)
}

// mostSteps is how many steps of an explanation are printed: the scenario tells the rest.
const mostSteps = 8

// alarms are those of many schedules.
type alarms struct {
	dir        string // for their scenarios
	mu         sync.Mutex
	tried      int
	found      map[string][]alarm // by property and lock
	conclusive map[string]int     // by property
	locks      map[string]bool
	kinds      map[string]bool // that took effect
}

// newAlarms has none. Their scenarios go to a folder; "": one for all temporary files.
func newAlarms(t *testing.T, dir string) *alarms {
	t.Helper()
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "lockpick-alarms")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &alarms{dir: dir, found: map[string][]alarm{}, conclusive: map[string]int{}, locks: map[string]bool{}, kinds: map[string]bool{}}
}

// try simulates one schedule of a configuration, and judges it by all properties.
func (all *alarms) try(t *testing.T, s scenario.Scenario, under *assumption) {
	h, r, err := SimulateAndJudge(t.Context(), s)
	all.mu.Lock()
	defer all.mu.Unlock()
	add := func(property, says string) {
		key := property + " of " + s.Lock
		a := alarm{s, under, property, says}
		if len(all.found[key]) == 0 { // at once: the test may be ended before it reports
			path, err := a.write(all.dir)
			t.Logf("%s: %s (%v)", key, path, err)
		}
		all.found[key] = append(all.found[key], a)
	}
	all.tried++
	if most := alarmSchedules(); most >= 1000 && all.tried%(most/20) == 0 {
		t.Logf("%d of %d schedules, %d sorts of alarm", all.tried, most, len(all.found))
	}
	if err != nil {
		if !errors.Is(err, t.Context().Err()) {
			add("harness", err.Error())
		}
		return
	}
	all.locks[s.Lock] = true
	for _, op := range h.Ops {
		if op.Value != nil && op.Value.TookEffect {
			all.kinds[op.F] = true
		}
	}
	for _, v := range r.Verdicts {
		switch {
		case slices.Contains(under.except, v.Property):
		case v.Verdict == checker.Violated:
			all.conclusive[v.Name]++
			first := &v.Violations[0]
			reason := first.Reason
			if len(reason) > mostSteps {
				reason = append(slices.Clone(reason[:mostSteps]), fmt.Sprintf("… and %d more steps", len(reason)-mostSteps))
			}
			add(v.Name, first.Summary+"\n"+strings.Join(reason, "\n"))
		case v.Verdict == checker.Holds:
			all.conclusive[v.Name]++
			if why := withoutEvidence(&v); why != "" {
				add(v.Name, "it holds, but "+why)
			}
		}
	}
}

// withoutEvidence says why a verdict of holds has no evidence, or "".
func withoutEvidence(v *checker.Result) string {
	if len(v.Evidence) == 0 {
		return "no evidence is counted"
	}
	for _, e := range v.Evidence {
		if e.Got < e.Need || e.Need == 0 {
			return e.Needs()
		}
	}
	return ""
}

// No property is violated by a correct lock within its assumptions, however many masters,
// keys and clients there are, however long the TTL is, whatever strikes; and what holds shows
// its evidence. Each alarm comes with the scenario that shows it again.
func TestCorrectLocksAreNeverConvicted(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	seed := *alarmSeed
	if seed == 0 {
		seed = uint64(rand.Uint32()) + 1
	}
	t.Logf("repeat with -alarm.seed=%d -alarm.configurations=%d -alarm.schedules=%d", seed, alarmConfigurations(), alarmSchedules())
	all := newAlarms(t, *alarmDir)
	random := rand.New(rand.NewPCG(seed, 0x616c61726d))
	type drawn struct {
		base  scenario.Scenario
		under *assumption
	}
	var configurations []drawn
	for i := 0; len(configurations) < alarmConfigurations(); i++ {
		s, under := configuration(random, i)
		if *alarmLock != "" && s.Lock != *alarmLock || !strings.HasPrefix(under.name, *alarmUnder) {
			continue
		}
		if err := s.Check(); err != nil {
			yaml, _ := s.YAML()
			t.Fatalf("configuration %d is not a scenario: %v\n%s", i, err, yaml)
		}
		configurations = append(configurations, drawn{s, under})
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				c := configurations[i%len(configurations)]
				s := c.base
				s.Seed = ScheduleSeed(seed, i)
				if c.under.explicit || i/len(configurations)%2 == 1 { // else the nemesis of the configuration
					s = drawScenario(c.base, s.Seed)
				}
				for j := 0; c.under.explicit && len(s.Schedule) == 0; j++ {
					s = drawScenario(c.base, ScheduleSeed(s.Seed, j))
				}
				all.try(t, s, c.under)
			}
		})
	}
	for i := range alarmSchedules() {
		next <- i
	}
	close(next)
	workers.Wait()
	all.report(t)
	if alarmSchedules() < alarmConfigurations() || *alarmLock != "" || *alarmUnder != "" {
		return
	}
	for _, lock := range workload.CorrectNames() {
		if !all.locks[lock] {
			t.Errorf("the lock %s was never tried", lock)
		}
	}
	for _, kind := range fault.NamesOn("sim") {
		if alarmConfigurations() >= len(assumptions)*10 && !all.kinds[kind] {
			t.Errorf("the fault %s never took effect", kind)
		}
	}
	if all.conclusive[checker.MutualExclusion.Name] == 0 {
		t.Error("no schedule was conclusive for mutual exclusion")
	}
}

// report says what was tried, and each alarm with a scenario that shows it again.
func (all *alarms) report(t *testing.T) {
	for _, p := range checker.Properties {
		n := all.conclusive[p.Name]
		t.Logf("%-4s %-18s %6d conclusive schedules, bound %s", p.Level, p.Name, n, Percent(Bound(n, len(checker.Properties))))
	}
	t.Logf("faults that took effect: %s", strings.Join(slices.Sorted(maps.Keys(all.kinds)), ", "))
	for _, key := range slices.Sorted(maps.Keys(all.found)) {
		slices.SortFunc(all.found[key], func(a, b alarm) int {
			return a.scenario.Clients*a.scenario.Masters - b.scenario.Clients*b.scenario.Masters
		})
		a := &all.found[key][0] // the smallest
		path, err := a.write(all.dir)
		if err != nil {
			t.Error(err)
		}
		t.Errorf("%s: %d times, for example with %s, faults %v, %d masters, %d clients, TTL %v: lockpick run %s\n%s",
			key, len(all.found[key]), a.under.name, a.scenario.FaultNames(), a.scenario.Masters, a.scenario.Clients, a.scenario.TTL, path, a.says)
	}
}

// An alarm is a scenario that violates the property again: here of a lock that is wrong.
func TestAlarmsShowThemselvesAgain(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	s, under := configuration(rand.New(rand.NewPCG(1, 2)), 0)
	s.Lock, s.Clients, s.Keys, s.TTL, s.Hold, s.TimeLimit, s.Fencing = "redlock-plain-del", 4, 1, 2*time.Second, "500ms..3s", 20*time.Second, false
	all := newAlarms(t, t.TempDir())
	for i := range 5 {
		s.Seed = uint64(i)
		all.try(t, s, under)
	}
	found := all.found["own-keys of redlock-plain-del"]
	if len(found) == 0 {
		t.Fatalf("no alarm about a lock that deletes others' keys: %v", slices.Sorted(maps.Keys(all.found)))
	}
	path, err := found[0].write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	again, err := scenario.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := SimulateAndJudge(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	if v, of := r.FirstViolation(again.Properties); v == nil || of != checker.OwnKeys.Name || !strings.HasPrefix(found[0].says, v.Summary) {
		t.Errorf("the scenario violates %s: %+v\nwant %s", of, v, found[0].says)
	}
}

// What holds without evidence is an alarm too.
func TestHoldsWithoutEvidenceIsAnAlarm(t *testing.T) {
	for _, c := range []struct {
		evidence []checker.Evidence
		ok       bool
	}{
		{nil, false},
		{[]checker.Evidence{{What: "meetings", Got: 9, Need: 10}}, false},
		{[]checker.Evidence{{What: "meetings", Got: 10, Need: 0}}, false},
		{[]checker.Evidence{{What: "meetings", Got: 10, Need: 10}}, true},
	} {
		if why := withoutEvidence(&checker.Result{Verdict: checker.Holds, Evidence: c.evidence}); (why == "") != c.ok {
			t.Errorf("%+v: %q", c.evidence, why)
		}
	}
}
