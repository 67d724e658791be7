package search

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/campaigntest"
	"lockpick/internal/racetest"
)

// forgetful is a base whose violations are rare.
func forgetful(seed uint64) scenario.Scenario {
	s := scenario.Defaults()
	s.Lock, s.Persistence, s.Seed = "redlock-get-del", "always", seed
	s.Faults = []string{"pause", "kill", "partition", "slow", "client-pause"}
	return s
}

// TestByCoverageIsRepeatable: the same seed makes the same exploration whatever the number of workers.
func TestByCoverageIsRepeatable(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	explore := func(workers int, byCoverage bool) *ExploreResult {
		x := mustExplore(t, ExploreOptions{
			Base: forgetful(5), Schedules: 150, Workers: workers, Properties: []string{"L2"}, Collect: true, ByCoverage: byCoverage,
		})
		x.Elapsed = 0
		return x
	}
	one, five, drawn := explore(1, true), explore(5, true), explore(5, false)
	if !reflect.DeepEqual(one, five) {
		t.Errorf("with one worker\n%+v\nwith five\n%+v", one, five)
	}
	if one.Situations < 50 || drawn.Situations != 0 {
		t.Errorf("%d situations by coverage, %d counted of drawn schedules", one.Situations, drawn.Situations)
	}
	if reflect.DeepEqual(one.Counts, drawn.Counts) {
		t.Error("no schedule was chosen by coverage: they are those that are drawn")
	}
}

// TestGuideMakesValidSchedules: whatever the schedules reach, those that are made of them are valid and keep to
// their base, and they are the same whether results arrive as early or as late as they can.
func TestGuideMakesValidSchedules(t *testing.T) {
	mutated := 0
	rapid.Check(t, func(t *rapid.T) {
		b := anyBase(t)
		b.Schedule = nil
		if b.Check() != nil {
			return
		}
		early, late := newGuide(b), newGuide(b)
		reaches := rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 0, 4, rapid.ID[int])
		var results []reached
		for i := range 40 {
			for n := late.learned + len(late.waiting); !late.ready(i, n); n++ {
				late.learn(results[n])
			}
			s := early.schedule(i)
			mustKeepTo(t, s, b)
			if diff := cmp.Diff(s, late.schedule(i)); diff != "" {
				t.Fatalf("schedule %d, if the results arrive late:\n%s", i, diff)
			}
			if !cmp.Equal(s, Schedule(b, i)) {
				mutated++
			}
			var situations []situation
			for _, votes := range reaches.Draw(t, "situations") {
				situations = append(situations, situation{votes: votes})
			}
			results = append(results, reached{s, situations})
			early.learn(results[i])
		}
	})
	if mutated == 0 {
		t.Error("every schedule was drawn: this tests nothing")
	}
}

// TestGuideMutatesSchedulesOfRareSituations: of a common situation and a rare one, the schedule of the rare one is
// mutated more often, and of the schedules that reach a situation, the last one of the fewest steps.
func TestGuideMutatesSchedulesOfRareSituations(t *testing.T) {
	b := campaigntest.Simulated(func(s *scenario.Scenario) { s.Faults = []string{"kill"} })
	schedule := func(keys, steps int) scenario.Scenario {
		s := b
		s.Faults, s.Keys = nil, keys // by which it is recognized
		for range steps {
			s.Schedule = append(s.Schedule, scenario.Step{Fault: "kill", Masters: []string{"m1"}})
		}
		return s
	}
	common, rare := situation{fault: "kill", votes: 1}, situation{fault: "kill", votes: 2}
	g := newGuide(b)
	g.learn(reached{schedule(1, 2), []situation{common, rare}})
	g.learn(reached{schedule(2, 1), []situation{rare}})
	g.learn(reached{schedule(3, 3), []situation{rare}})
	for range 10 {
		g.learn(reached{schedule(4, 2), []situation{common}})
	}
	g.learn(reached{schedule(5, 0), []situation{common}}) // of a nemesis: it has no steps to mutate
	g.keep(14)
	if n := g.reached(); n != 2 {
		t.Errorf("%d situations reached, want 2", n)
	}
	chosen := map[int]int{}
	d := &generator{random: rand.New(rand.NewPCG(1, 2))}
	for range 1000 {
		s, _ := g.choose(d)
		chosen[s.Keys]++
	}
	if chosen[2]+chosen[4] != 1000 || chosen[2] < 650 || chosen[4] < 150 {
		t.Errorf("chosen, by their number of keys: %v; want 2 in three of four cases, else 4", chosen)
	}
}

// TestSituations: what a fault met is told by its own time, and its own masters do not count as impaired.
func TestSituations(t *testing.T) {
	const ms = time.Millisecond
	fault := func(id int, kind string, at time.Duration, clients []string, masters ...string) history.Op {
		return history.Op{Time: at, Process: history.Nemesis, Type: history.OK, F: kind, Value: &history.Value{ID: id, Phase: history.PhaseInstall, Masters: masters, Clients: clients}}
	}
	vote := func(at time.Duration, token string, yes bool) history.Op {
		return history.Op{Time: at, Process: "m1", Type: history.OK, F: history.FVote, Value: &history.Value{Client: "c1", Command: history.CommandSet, Token: token, Yes: yes, Took: ms}}
	}
	h := &history.History{Header: history.Header{Clients: 1}, Ops: []history.Op{
		{Time: 0, Process: "c1", Type: history.Invoke, F: history.FAcquire},
		vote(10*ms, "a", true),
		fault(1, "pause", 11*ms, nil, "m2", "m3"),
		fault(2, "client-pause", 12*ms, []string{"c1"}),
		vote(20*ms, "b", true), vote(21*ms, "b", false), vote(22*ms, "b", true), vote(23*ms, "b", true), vote(24*ms, "b", true),
		{Time: 30 * ms, Process: "c1", Type: history.OK, F: history.FAcquire},
		fault(3, "kill", 31*ms, nil, "m1", "m2"),
	}}
	want := []situation{
		{fault: "client-pause", step: Waiting, votes: 1, impaired: 2, before: "pause"},
		{fault: "kill", step: Holding, votes: 3, impaired: 2, before: "client-pause"},
		{fault: "pause", step: Waiting, votes: 1, impaired: 0, before: ""},
	}
	if got := situations(h, Strikes(h)); !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestByCoverageBoundsNoShare: schedules that are chosen are no random sample, so nothing is said of shares.
func TestByCoverageBoundsNoShare(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	correct := campaigntest.Simulated(func(s *scenario.Scenario) { s.Persistence = "always" })
	broken := campaigntest.Simulated(func(s *scenario.Scenario) {})
	for _, c := range []struct {
		base    scenario.Scenario
		verdict checker.Verdict
	}{{correct, checker.Holds}, {broken, checker.Violated}} {
		x := mustExplore(t, ExploreOptions{Base: c.base, Schedules: 40, ByCoverage: true, Collect: true})
		p := x.Properties[0]
		if p.Verdict != c.verdict || p.Bound != 0 || p.Rate != nil || x.Statements != 0 || len(x.Caveats()) > 0 || !strings.Contains(p.Why, "no random sample") {
			t.Errorf("%+v, %d statements, want %s without a share", p, x.Statements, c.verdict)
		}
	}
}

// TestByCoverageReachesMoreSituations: of as many schedules, those that are chosen by coverage reach more
// situations than those that are drawn, over the seeds together.
func TestByCoverageReachesMoreSituations(t *testing.T) {
	racetest.Exclude(t, "it simulates many schedules")
	const seeds, schedules = 2, 200
	var all [2]int
	for seed := range seeds {
		for way := range all {
			e := ExploreOptions{Base: forgetful(uint64(seed)), ByCoverage: true}
			e.Base.Properties = []string{"L2"}
			g, seen := newGuide(e.Base), map[situation]bool{}
			for i := range schedules {
				s := Schedule(e.Base, i)
				if way == 1 {
					s = g.schedule(i)
				}
				if err := s.Check(); err != nil {
					t.Fatalf("schedule %d: %v", i, err)
				}
				done, err := e.try(t.Context(), nil, i, s)
				if err != nil {
					t.Fatal(err)
				}
				g.learn(done.reached)
				for _, x := range done.reached.situations {
					seen[x] = true
				}
			}
			all[way] += len(seen)
		}
	}
	t.Logf("situations: %d by drawing, %d by coverage", all[0], all[1])
	if all[1] <= all[0] {
		t.Errorf("%d situations by drawing, %d by coverage", all[0], all[1])
	}
}

// TestByCoverageRefuses: an exploration with nothing to choose is refused, and one that is shared among machines.
func TestByCoverageRefuses(t *testing.T) {
	scheduled := forgetful(1)
	scheduled.Schedule, scheduled.Faults = []scenario.Step{{Fault: "kill", Masters: []string{"m1"}}}, nil
	for want, e := range map[string]ExploreOptions{
		"machines cannot share":      {Base: forgetful(1), Shard: Shard{1, 2}},
		"a scenario with a schedule": {Base: scheduled},
	} {
		e.Schedules, e.ByCoverage = 1, true
		if _, err := Explore(t.Context(), e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := NewPart(ExploreOptions{Base: forgetful(1), Schedules: 1, ByCoverage: true}); !errors.Is(err, ErrShardByCoverage) {
		t.Errorf("a part: %v", err)
	}
}
