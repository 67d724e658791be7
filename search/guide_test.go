package search

import (
	"context"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
)

// forgetful is a base whose violations are not in the first generation of schedules.
func forgetful(seed uint64) campaign.Scenario {
	s := campaign.Defaults()
	s.Lock, s.Persistence, s.Seed = "redlock-get-del", "always", seed
	s.Faults = []string{"pause", "kill", "partition", "slow", "client-pause"}
	return s
}

// TestByCoverageIsRepeatable: the same seed makes the same schedules whatever the number of workers, and the
// first generation is drawn.
func TestByCoverageIsRepeatable(t *testing.T) {
	const schedules = 3*generation + 7
	explore := func(workers int, byCoverage bool) *ExploreResult {
		x, err := Explore(t.Context(), ExploreOptions{
			Base: forgetful(5), Schedules: schedules, Workers: workers, Properties: []string{"L2"}, Collect: true, ByCoverage: byCoverage,
		})
		if err != nil {
			t.Fatal(err)
		}
		x.Elapsed = 0
		return x
	}
	one, four, drawn := explore(1, true), explore(4, true), explore(4, false)
	if !reflect.DeepEqual(one, four) {
		t.Errorf("with one worker\n%+v\nwith four\n%+v", one, four)
	}
	if reflect.DeepEqual(one.Counts, drawn.Counts) {
		t.Error("no schedule was made by coverage: they are those that are drawn")
	}
	first := func(x *ExploreResult) (numbers []int) {
		for _, f := range x.Found {
			if f.Number < generation {
				numbers = append(numbers, f.Number)
			}
		}
		return numbers
	}
	if !slices.Equal(first(one), first(drawn)) {
		t.Errorf("found in the first generation: %v; of drawn ones %v", first(one), first(drawn))
	}
}

// TestByCoverageComesToNewSituations: schedules that are made of those that brought about something new bring
// about more than as many that are drawn, over the seeds together.
func TestByCoverageComesToNewSituations(t *testing.T) {
	const seeds, schedules = 4, 6 * generation
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
				done, err := e.try(t.Context(), i, s)
				if err != nil {
					t.Fatal(err)
				}
				g.learn(s, done.brought)
				for x := range done.brought {
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

// TestByCoverageRefuses: what cannot be made by coverage is refused.
func TestByCoverageRefuses(t *testing.T) {
	scheduled := forgetful(1)
	scheduled.Schedule, scheduled.Faults = []campaign.Step{{Fault: "kill", Masters: []string{"m1"}}}, nil
	for want, e := range map[string]ExploreOptions{
		"shard":    {Base: forgetful(1), Shard: Shard{1, 2}},
		"schedule": {Base: scheduled},
	} {
		e.Schedules, e.ByCoverage = 1, true
		if _, err := Explore(t.Context(), e); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

var (
	coverageSeeds = flag.Int("coverage.seeds", 0, "TestCoverageAgainstDrawing: explorations of each bug (0: none)")
	coverageMost  = flag.Int("coverage.most", 2000, "TestCoverageAgainstDrawing: schedules after which an exploration ends")
)

// TestCoverageAgainstDrawing makes the table of docs/explore.md: how many schedules it takes until a planted bug
// is found, if each is drawn and if they are chosen by coverage.
func TestCoverageAgainstDrawing(t *testing.T) {
	if *coverageSeeds == 0 {
		t.Skip("it takes half an hour: go test ./search -run CoverageAgainstDrawing -v -coverage.seeds=21 -timeout 2h")
	}
	const usual = "pause,kill,partition,slow,reset,client-pause,client-kill"
	extending := func(s *campaign.Scenario) { s.Extend = 0.5 }
	fmt.Println("| bug | property | drawn | by coverage | ratio |\n|---|---|---|---|---|")
	for _, b := range []struct {
		lock, property, faults string
		more                   func(*campaign.Scenario)
	}{
		{"redlock-reachable-quorum", "L2", usual, nil},
		{"redlock-extend-lies", "L2", usual, extending},
		{"redlock-no-validity", "dead-on-arrival", usual, nil},
		{"redlock-one-start", "AV", usual, nil},
		{"redlock-extend-late", "extension", usual, extending},
		{"redlock-extend-recreates", "L2", usual, func(s *campaign.Scenario) { s.Extend, s.Persistence = 0.5, "none" }},
		{"redlock-release-believed", "AV", usual, nil},
		{"redlock-no-rollback", "AV", usual, nil},
		{"redlock-minority-error", "AV", usual, nil},
		{"redlock-setnx-expire", "AV", usual, nil},
		{"redlock-get-del", "L2", usual, nil},
		{"redlock-plain-del", "L2", usual, nil},
		{"redlock-weak-token", "L1", usual, nil},
		{"redlock-wall-clock", "L2", usual + ",client-clock", nil},
		{"redlock-quorum-half", "L2", usual, func(s *campaign.Scenario) { s.Masters = 4 }},
		{"redlock-no-drift", "L2", usual + ",clock", func(s *campaign.Scenario) { s.Clock = "x1.02" }},
		{"redlock-cancelled-release", "AV", usual, nil},
		{"redlock-waits-for-all", "AV", usual, nil},
		{"redlock-late-start", "L2", usual, nil},
		{"redlock-one-token", "L2", usual, nil},
		{"redlock-extend-acquires", "L2", usual, extending},
		{"redlock (restarts after 1.5 s, without persistence)", "L2", usual, func(s *campaign.Scenario) { s.RestartDelay, s.Persistence = 1500*time.Millisecond, "none" }},
		{"redlock (power cuts, everysec)", "L2", usual + ",powercut", func(s *campaign.Scenario) { s.Persistence = "everysec" }},
	} {
		var taken [2][]int
		for seed := range *coverageSeeds {
			for way := range taken {
				s := campaign.Defaults()
				s.Lock, _, _ = strings.Cut(b.lock, " ")
				s.Faults, s.Persistence, s.Seed = strings.Split(b.faults, ","), "always", uint64(seed+1)
				if b.more != nil {
					b.more(&s)
				}
				x, err := Explore(context.Background(), ExploreOptions{Base: s, Schedules: *coverageMost, Properties: []string{b.property}, ByCoverage: way == 1})
				if err != nil {
					t.Fatal(err)
				}
				n := *coverageMost + 1
				if len(x.Found) > 0 {
					n = x.Found[0].Number + 1
				}
				taken[way] = append(taken[way], n)
			}
		}
		var median [2]string
		var middle [2]float64
		for way := range taken {
			slices.Sort(taken[way])
			m := taken[way][*coverageSeeds/2]
			median[way], middle[way] = fmt.Sprint(m), float64(m)
			if m > *coverageMost {
				median[way] = fmt.Sprintf("more than %d", *coverageMost)
			}
		}
		fmt.Printf("| %s | %s | %s | %s | %.2f |\n", b.lock, b.property, median[0], median[1], middle[1]/middle[0])
		t.Logf("%s: %v", b.lock, taken)
	}
}
