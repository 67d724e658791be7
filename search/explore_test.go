package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/campaigntest"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
	"lockpick/nemesis"
)

func mustExplore(t *testing.T, e ExploreOptions) *ExploreResult {
	t.Helper()
	x, err := Explore(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// The correct lock, within its assumptions, is never blamed.
func TestCorrectLockHoldsInEverySchedule(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	tried, number := sampletest.Of(t, 2, 2), 0
	for name, c := range map[string]struct {
		schedules int
		change    func(*scenario.Scenario)
	}{
		"always": {1500, func(s *scenario.Scenario) {
			s.Persistence, s.Faults = "always", []string{"kill", "pause", "partition", "client-pause", "client-kill", "slow", "reset"}
		}},
		"restarts delayed beyond the TTL": {400, func(s *scenario.Scenario) {
			s.Faults, s.RestartDelay = []string{"kill", "partition", "client-pause"}, 2500*time.Millisecond
		}},
		"clocks within the allowance": {400, func(s *scenario.Scenario) {
			s.Persistence, s.Faults, s.Clock = "always", []string{"clock", "client-pause", "kill"}, "x1.005"
		}},
		"clocks that jump back": {400, func(s *scenario.Scenario) {
			s.Persistence, s.Faults, s.Clock = "always", []string{"clock", "client-pause"}, "-10s"
		}},
	} {
		if number++; !tried(number) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schedules := sampletest.Count(c.schedules, 3, 1)
			x := mustExplore(t, ExploreOptions{Base: campaigntest.Simulated(c.change), Schedules: schedules})
			proveNothing := 0
			for _, n := range x.Properties[0].Lacking {
				proveNothing += n
			}
			if p := x.Properties[0]; x.Verdict() != checker.Holds || x.Schedules != schedules || p.Conclusive < 20 || p.Conclusive+proveNothing != x.Schedules {
				t.Errorf("%s after %d schedules, of which %d are conclusive and %d prove nothing: %s", x.Verdict(), x.Schedules, p.Conclusive, proveNothing, p.Why)
			}
			for _, f := range x.Found {
				t.Errorf("schedule %d (seed %d): %s\n%s", f.Number, f.Seed, f.Violation.Summary, strings.Join(f.Violation.Reason, "\n"))
			}
			if p := x.Properties[0]; p.Bound != Bound(p.Conclusive, 1) || !strings.Contains(p.Why, "at most "+Percent(p.Bound)) {
				t.Errorf("it holds without the bound of %d schedules, %v: %s", p.Conclusive, Bound(p.Conclusive, 1), p.Why)
			}
			for kind, b := range x.Kinds {
				covered := 0
				for _, n := range x.Coverage[kind] {
					covered += n
				}
				if b.TookEffect == 0 || covered == 0 {
					t.Errorf("%s: %+v, covered %v", kind, b, x.Coverage[kind])
				}
			}
		})
	}
}

// An exploration is the same for the same seed, whatever the number of workers.
func TestExplorationsAreTheSame(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	for name, e := range map[string]ExploreOptions{
		"nothing found":   {Base: campaigntest.Simulated(func(s *scenario.Scenario) { s.Persistence = "always" }), Schedules: 40},
		"the first found": {Base: campaigntest.Simulated(func(s *scenario.Scenario) { s.Faults, s.RestartDelay = []string{"kill"}, 1500*time.Millisecond }), Schedules: 100},
		"all found":       {Base: campaigntest.Simulated(func(s *scenario.Scenario) {}), Schedules: 40, Collect: true},
		"a schedule": {Base: campaigntest.Simulated(func(s *scenario.Scenario) {
			s.Schedule = []scenario.Step{{Fault: "kill", After: "any acquires k0", Repeat: true}}
		}), Schedules: 20, Collect: true},
	} {
		t.Run(name, func(t *testing.T) {
			var first *ExploreResult
			for _, workers := range []int{1, 2, 5} {
				e.Workers = workers
				x := mustExplore(t, e)
				x.Elapsed = 0
				if first == nil {
					first = x
				} else if diff := cmp.Diff(first, x, cmpopts.EquateEmpty(), cmpopts.EquateComparable(checker.Property{}), cmp.AllowUnexported(ExploreResult{}, request{})); diff != "" {
					t.Errorf("with %d workers:\n%.2000s", workers, diff)
				}
			}
			if found := len(first.Found); (name == "nothing found") != (found == 0) || name == "the first found" && (found != 1 || first.Schedules != first.Found[0].Number+1) {
				t.Errorf("found %d in %d schedules", found, first.Schedules)
			}
		})
	}
}

// An exploration that proves nothing does not say that anything holds, and says what is missing.
func TestExplorationsThatProveNothing(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	explore := func(change func(*scenario.Scenario), properties ...string) *ExploreResult {
		t.Helper()
		return mustExplore(t, ExploreOptions{Base: campaigntest.Simulated(change), Schedules: 10, Properties: properties})
	}
	for name, c := range map[string]struct {
		x    *ExploreResult
		says string
	}{
		"a fault that does nothing": {explore(func(s *scenario.Scenario) { s.Faults = []string{"full-disk"} }), "because full-disk was"},
		"masters that never answer": {explore(func(s *scenario.Scenario) {
			s.TimeLimit, s.Schedule = 10*time.Second, []scenario.Step{{Fault: "pause", Masters: []string{nemesis.All}, For: 10 * time.Second}}
		}), "of 10 schedules was conclusive"},
		"a property that needs tests": {explore(func(s *scenario.Scenario) { s.Faults = nil }, "L5"), "because the leases of this lock carry no fencing tokens: try --fencing"},
	} {
		p := c.x.Properties[0]
		if c.x.Verdict() != checker.Invalid || p.Conclusive != 0 || !strings.Contains(p.Why, c.says) || len(c.x.Caveats()) > 0 {
			t.Errorf("%s: %s after %d conclusive schedules: %s, want %q", name, c.x.Verdict(), p.Conclusive, p.Why, c.says)
		}
	}
	if _, err := Explore(t.Context(), ExploreOptions{Base: campaigntest.Simulated(func(s *scenario.Scenario) {})}); err == nil {
		t.Error("without an end it ran")
	}
}

// Only the schedules count of which the checker says that the property holds or is violated.
func TestOnlyConclusiveSchedulesCount(t *testing.T) {
	x := newExploreResult(&ExploreOptions{Properties: []string{"L2", "L4"}})
	for i, verdict := range []checker.Verdict{checker.Holds, checker.Invalid, checker.Unknown, checker.Holds, ""} {
		r := &judge.Result{Verdicts: []checker.Result{{Property: checker.MutualExclusion, Verdict: verdict, Why: "too few leases"}}}
		if verdict == "" {
			r.Verdicts, r.Untested = nil, map[string]string{checker.MutualExclusion.Name: "nobody acquired it"}
		}
		x.fold(&trial{number: i, result: r})
	}
	x.conclude(ExploreOptions{Properties: []string{"L2", "L4"}})
	l2, l4 := x.Properties[0], x.Properties[slices.IndexFunc(x.Properties, func(p PropertyCount) bool { return p.Level == "L4" })]
	if l2.Tested != 4 || l2.Conclusive != 2 || l2.Lacking["too few leases"] != 2 || l2.Lacking["nobody acquired it"] != 1 || l2.Verdict != checker.Holds || l2.Bound != Bound(2, 1) {
		t.Errorf("L2: %+v", l2)
	}
	if want := "violated in none of 2 conclusive schedules (3 more proved nothing); with 95 % confidence in at most 78 % of those drawn from this scenario"; l2.Why != want {
		t.Errorf("L2: %s\nwant %s", l2.Why, want)
	}
	if l4.Verdict != checker.Invalid || x.Verdict() != checker.Invalid {
		t.Errorf("L4, which nothing tested, is %s; all together %s", l4.Verdict, x.Verdict())
	}
}

// Where several properties are bounded at once each bound is wider, so that all are right
// together; a share is given only if the search did not end with a violation.
func TestSeveralStatementsHoldTogether(t *testing.T) {
	s := campaigntest.Simulated(func(s *scenario.Scenario) { s.Persistence, s.Faults = "always", []string{"client-pause"} })
	x := mustExplore(t, ExploreOptions{Base: s, Schedules: 120, Collect: true, Properties: []string{"L2", "L3", "L4"}})
	if x.Statements < 3 || x.Settled || len(x.Caveats()) != 2 {
		t.Fatalf("%d statements, settled: %v, %q", x.Statements, x.Settled, x.Caveats())
	}
	for _, p := range x.Properties {
		switch p.Verdict {
		case checker.Holds:
			if p.Bound != Bound(p.Conclusive, x.Statements) || p.Rate != nil {
				t.Errorf("%s: bound %v, rate %v", p.Name, p.Bound, p.Rate)
			}
		case checker.Violated:
			if want := Wilson(p.Violated, p.Conclusive, x.Statements); p.Rate == nil || *p.Rate != want || !strings.Contains(p.Why, want.String()) {
				t.Errorf("%s: rate %v, want %v: %s", p.Name, p.Rate, want, p.Why)
			}
		}
	}
	x = mustExplore(t, ExploreOptions{Base: s, Schedules: 120, Properties: []string{"L4"}})
	if p := x.Properties[0]; p.Verdict != checker.Violated || p.Rate != nil || !x.Settled || x.Statements != 0 || !strings.Contains(p.Why, "--collect") {
		t.Errorf("a search that ended with a violation: %+v", p)
	}
}

// A violation is distinct by what explains it: the faults that its explanation names, and
// those that skew the clock of a client that takes part.
func TestReasonsNameTheFaultsOfClients(t *testing.T) {
	skewed := &history.Fault{ID: 3, Name: "client-clock", Installed: true, Began: time.Second, Clients: []string{"c1"}, Params: map[string]string{"clock": "x0.3"}}
	kill := &history.Fault{ID: 4, Name: "kill", Installed: true, Began: time.Second, Masters: []string{"m1"}}
	for _, c := range []struct {
		name   string
		faults []*history.Fault
		v      narrative.Violation
		want   string
	}{
		{"named", []*history.Fault{kill}, narrative.Violation{Faults: []int{4}, At: 2 * time.Second}, "kill"},
		{"the clock of a client", []*history.Fault{skewed, kill}, narrative.Violation{Clients: []string{"c2", "c1"}, At: 2 * time.Second}, "client-clock"},
		{"the clock of another", []*history.Fault{skewed}, narrative.Violation{Clients: []string{"c2", "c3"}, At: 2 * time.Second}, "no fault is known to explain it"},
		{"a clock that is skewed later", []*history.Fault{skewed}, narrative.Violation{Clients: []string{"c1"}, At: time.Millisecond}, "without a fault"},
		{"nothing", nil, narrative.Violation{At: time.Second}, "without a fault"},
	} {
		if got := reasonOf(checker.MutualExclusion, c.v, explaining(c.v, c.faults), c.faults); got != "L2 mutual-exclusion: "+c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A search goes on until each property that was asked for is violated: one that is violated
// soon does not keep the others from being tested, nor do schedules that prove nothing.
func TestASearchEndsWhenAllThatWasAskedForIsViolated(t *testing.T) {
	s := campaigntest.Simulated(func(s *scenario.Scenario) { s.Persistence, s.Faults = "always", []string{"client-pause"} })
	one := mustExplore(t, ExploreOptions{Base: s, Schedules: 60, Properties: []string{"L4"}})
	both := mustExplore(t, ExploreOptions{Base: s, Schedules: 60, Properties: []string{"L4", "L2"}})
	if one.Schedules >= 60 || both.Schedules != 60 {
		t.Errorf("%d schedules for L4, %d for L4 and L2", one.Schedules, both.Schedules)
	}
	if len(both.Found) != 1 || both.Found[0].Number != one.Found[0].Number || both.Found[0].Reason != one.Found[0].Reason {
		t.Errorf("L4 is first violated by %+v; with L2 beside it, by %+v", one.Found, both.Found)
	}
	for _, p := range both.Properties {
		if p.Level == "L2" && p.Verdict != checker.Holds && p.Name == checker.MutualExclusion.Name || p.Level == "L4" && (p.Verdict != checker.Violated || p.Rate == nil) {
			t.Errorf("%s is %s: %s", p.Name, p.Verdict, p.Why)
		}
	}
}

// Whoever interrupts an exploration learns what was tried by then.
func TestInterruptedExploration(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	x, err := Explore(ctx, ExploreOptions{
		Base: campaigntest.Simulated(func(s *scenario.Scenario) { s.Persistence = "always" }), Schedules: 1 << 30,
		Live: func(done, _ int, _ func() string) {
			if done > 3 {
				interrupt(errors.New("enough"))
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !x.Interrupted || x.Schedules < 3 || x.Verdict() != checker.Unknown || x.Counts.Granted == 0 {
		t.Errorf("%s after %d schedules, interrupted: %v", x.Verdict(), x.Schedules, x.Interrupted)
	}
	x = mustExplore(t, ExploreOptions{Base: campaigntest.Simulated(func(s *scenario.Scenario) { s.Persistence = "always" }), TimeLimit: 300 * time.Millisecond})
	if x.Interrupted || !x.OutOfTime {
		t.Errorf("out of time: %+v", x)
	}
}

// Whatever is drawn is a scenario, and keeps to what its base assumes.
func TestDrawnScenariosKeepToTheirBase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := anyBase(t)
		if b.Check() != nil {
			return
		}
		seed := rapid.Uint64().Draw(t, "seed of the schedule")
		s := drawScenario(b, seed)
		mustKeepTo(t, s, b)
		if diff := cmp.Diff(s, drawScenario(b, seed)); diff != "" {
			t.Fatalf("drawn again it differs:\n%s", diff)
		}
	})
}

// anyBase draws the base of an exploration.
func anyBase(t *rapid.T) scenario.Scenario {
	b := campaigntest.AnyScenario(t)
	b.Driver, b.TTL = scenario.Sim, rapid.SampledFrom([]time.Duration{100 * time.Millisecond, 2 * time.Second, time.Minute}).Draw(t, "ttl")
	b.Clock = rapid.SampledFrom([]string{"", "+60s", "-60s", "x1.005"}).Draw(t, "clock")
	return b
}

// mustKeepTo fails unless a schedule is valid and keeps to what its base assumes.
func mustKeepTo(t *rapid.T, s, b scenario.Scenario) {
	if err := s.Check(); err != nil {
		yaml, _ := s.YAML()
		t.Fatalf("%v\n%s", err, yaml)
	}
	if s.Lock != b.Lock || s.Masters != b.Masters || s.Persistence != b.Persistence || s.TTL != b.TTL || s.Keys != b.Keys || s.Clients > b.Clients || s.RestartDelay != b.RestartDelay {
		t.Fatalf("%+v is not of %+v", s, b)
	}
	if len(b.Schedule) > 0 {
		if !cmp.Equal(s.Schedule, b.Schedule) {
			t.Fatal("the schedule was changed")
		}
		return
	}
	for _, step := range s.Schedule {
		kind := fault.Of(step.Fault)
		switch {
		case !slices.Contains(b.Faults, step.Fault):
			t.Fatalf("%v was not asked for", step)
		case kind.EndsMaster() && step.For < b.RestartDelay:
			t.Fatalf("%v is restarted before %v", step, b.RestartDelay)
		case kind.Clock == fault.MasterClock && b.Clock != "" && step.Clock != b.Clock:
			t.Fatalf("%v, but the base has %s", step, b.Clock)
		case len(b.Targets) > 0 && kind.Hits != fault.Clients && !slices.Contains(b.Targets, step.Masters[0]):
			t.Fatalf("%v aims at what was not asked for", step)
		}
	}
}

// With the scheduler pct the same seed makes the same run, and another than chance.
func TestPCTIsAnotherSchedule(t *testing.T) {
	s := campaigntest.Simulated(func(s *scenario.Scenario) { s.Faults, s.TimeLimit, s.Scheduler = nil, 5*time.Second, scenario.PCT })
	one, err := campaign.Record(t.Context(), s, campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := campaign.Record(t.Context(), s, campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Scheduler = scenario.Uniform
	other, err := campaign.Record(t.Context(), s, campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(one, again) || cmp.Equal(one.Ops, other.Ops) {
		t.Errorf("the same again: %v; the same as by chance: %v", cmp.Equal(one, again), cmp.Equal(one.Ops, other.Ops))
	}
}
