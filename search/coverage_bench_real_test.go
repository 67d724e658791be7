//go:build real

package search

import (
	"context"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
)

var (
	coverageSeeds = flag.Int("coverage.seeds", 1, "BenchmarkCoverageAgainstDrawing: explorations of each bug")
	coverageFirst = flag.Uint64("coverage.first", 1, "BenchmarkCoverageAgainstDrawing: the first of the seeds")
	coverageBugs  = flag.String("coverage.bugs", "", "BenchmarkCoverageAgainstDrawing: a regular expression of the bugs; empty: all")
	coverageMost  = flag.Int("coverage.most", 1500, "BenchmarkCoverageAgainstDrawing: schedules after which an exploration ends")
)

// BenchmarkCoverageAgainstDrawing makes the table of docs/search.md: how many schedules it takes until a planted bug
// is found, if each is drawn and if they are chosen by coverage.
func BenchmarkCoverageAgainstDrawing(b *testing.B) {
	for b.Loop() {
		coverageAgainstDrawing(b)
	}
}

func coverageAgainstDrawing(t *testing.B) {
	const usual = "pause,kill,partition,slow,reset,client-pause,client-kill"
	extending := func(s *scenario.Scenario) { s.Extend = 0.5 }
	type row struct {
		lock, property string
		median         [2]int
	}
	var rows []row
	for _, b := range []struct {
		lock, property, faults string
		more                   func(*scenario.Scenario)
	}{
		{"redlock-reachable-quorum", "L2", usual, nil},
		{"redlock-extend-lies", "L2", usual, extending},
		{"redlock-no-validity", "dead-on-arrival", usual, nil},
		{"redlock-one-start", "AV", usual, nil},
		{"redlock-extend-late", "extension", usual, extending},
		{"redlock-extend-recreates", "L2", usual, func(s *scenario.Scenario) { s.Extend, s.Persistence = 0.5, "none" }},
		{"redlock-release-believed", "AV", usual, nil},
		{"redlock-no-rollback", "AV", usual, nil},
		{"redlock-minority-error", "AV", usual, nil},
		{"redlock-setnx-expire", "AV", usual, nil},
		{"redlock-get-del", "L2", usual, nil},
		{"redlock-plain-del", "L2", usual, nil},
		{"redlock-weak-token", "L1", usual, nil},
		{"redlock-wall-clock", "L2", usual + ",client-clock", nil},
		{"redlock-quorum-half", "L2", usual, func(s *scenario.Scenario) { s.Masters = 4 }},
		{"redlock-no-drift", "L2", usual + ",clock", func(s *scenario.Scenario) { s.Clock = "x1.02" }},
		{"redlock-cancelled-release", "AV", usual, nil},
		{"redlock-waits-for-all", "AV", usual, nil},
		{"redlock-late-start", "L2", usual, nil},
		{"redlock-one-token", "L2", usual, nil},
		{"redlock-extend-acquires", "L2", usual, extending},
		{"redlock (restarts after 1.5 s, without persistence)", "L2", usual, func(s *scenario.Scenario) { s.RestartDelay, s.Persistence = 1500*time.Millisecond, "none" }},
		{"redlock (power cuts, everysec)", "L2", usual + ",powercut", func(s *scenario.Scenario) { s.Persistence = "everysec" }},
	} {
		if !regexp.MustCompile(*coverageBugs).MatchString(b.lock) {
			continue
		}
		var taken [2][]int
		for seed := range *coverageSeeds {
			for way := range taken {
				s := scenario.Defaults()
				s.Lock, _, _ = strings.Cut(b.lock, " ")
				s.Faults, s.Persistence, s.Seed = strings.Split(b.faults, ","), "always", *coverageFirst+uint64(seed)
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
		r := row{lock: b.lock, property: b.property}
		for way := range taken {
			slices.Sort(taken[way])
			r.median[way] = taken[way][*coverageSeeds/2]
		}
		rows = append(rows, r)
		t.Logf("%s: %v", b.lock, taken)
	}
	// The rarest bugs come first. By coverage becomes the default if the ratio is at most 0.5 in the first half
	// of the rows and at most 1.5 in the others.
	slices.SortStableFunc(rows, func(a, b row) int { return b.median[0] - a.median[0] })
	fmt.Println("| bug | property | drawn | by coverage | ratio |\n|---|---|---|---|---|")
	for _, r := range rows {
		median, ratio := [2]string{}, fmt.Sprintf("%.2f", float64(r.median[1])/float64(r.median[0]))
		for way, m := range r.median {
			median[way] = fmt.Sprint(m)
			if m > *coverageMost { // not found: the ratio is not known either
				median[way], ratio = fmt.Sprintf("more than %d", *coverageMost), "–"
			}
		}
		fmt.Printf("| %s | %s | %s | %s | %s |\n", r.lock, r.property, median[0], median[1], ratio)
	}
}
