package reports

import (
	"bytes"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/reports/term"
	"lockpick/search"
	"lockpick/search/reduce"
)

// explored is what users and scripts read of an exploration that found something, or
// nothing, and was interrupted.
func explored(t *testing.T, json, nothing bool) string {
	t.Helper()
	base := scenario.Defaults()
	rate := search.Wilson(2, 1230, 2)
	x := &search.ExploreResult{
		Seed: 7, Schedules: 1234, Simulated: 2 * time.Hour, Elapsed: 4200 * time.Millisecond,
		Counts:   judge.Counts{Operations: 100_000, Acquires: 900, Granted: 800, Refused: 100, Faults: 30, TookEffect: 28},
		Kinds:    map[string]*search.FaultCount{"kill": {Installed: 20, TookEffect: 20, Skipped: 3}, "partition": {Installed: 10, TookEffect: 8}},
		Coverage: search.Coverage{"kill": {search.Holding: 31, search.Waiting: 40}, "partition": {search.Acquiring: 12}},
		Shapes:   map[string]int{"schedule": 900, scenario.Guided: 334, scenario.Uniform + " scheduler": 800, scenario.PCT + " scheduler": 434},
		Properties: []search.PropertyCount{
			{Property: checker.MutualExclusion, Tested: 1234, Conclusive: 1230, Violated: 2, Verdict: checker.Violated, Rate: &rate, First: 41,
				Lacking: map[string]int{"too few leases were granted": 4}, Why: "violated in 2 of 1230 conclusive schedules (4 more proved nothing): 0.04-0.67 %; first by schedule 41"},
			{Property: checker.NoStaleWrite, Tested: 1000, Conclusive: 1000, Verdict: checker.Holds, Bound: search.Bound(1000, 2), First: -1,
				Why: "violated in none of 1000 conclusive schedules (234 more proved nothing); with 95 % confidence in at most 0.37 % of those drawn from this scenario"},
		},
		Statements: 2,
	}
	if nothing {
		x.Interrupted, x.Properties, x.Statements, x.Kinds, x.Coverage = true, x.Properties[1:], 1, nil, nil
	}
	s := base
	s.Masters, s.Clients, s.Schedule = 3, 2, []scenario.Step{
		{Fault: "partition", Clients: []string{"c1"}, Masters: []string{"m3"}, Mode: "hold", Direction: "replies", For: 2 * time.Second},
		{Fault: "kill", After: "c1 acquires k0", Masters: []string{"m1", "m2"}},
	}
	v := narrative.Violation{Level: "L2", Key: "k0", At: 28 * time.Millisecond, Summary: "c2 was granted k0 at 0.028s while c1 could still rely on it", Reason: []string{"At 0.002s c1 was granted k0.", "At 0.003s m1 and m2 were killed."}}
	found := []Counterexample{}
	if !nothing {
		x.Found = []search.Found{{Number: 41, Seed: 99, Scenario: s, Property: checker.MutualExclusion, Faults: []string{"kill", "partition"}, Reason: "L2 mutual-exclusion: kill, partition", Violation: v, Count: 2}}
		found = append(found, Counterexample{Found: &x.Found[0], Shrunk: &reduce.ShrinkResult{
			Scenario: s, Violation: v, Before: reduce.Size{Faults: 6, Clients: 5, Masters: 5, Keys: 1, Time: 3 * time.Second},
			Size: reduce.Size{Faults: 2, Clients: 2, Masters: 3, Keys: 1, Time: 28 * time.Millisecond}, Seeds: 20, Rate: 18, Minimal: true, Runs: 512,
		}, Run: &judge.Result{Run: "20260102T030405-redlock", Report: "store/20260102T030405-redlock/report.html", History: "store/20260102T030405-redlock/history.jsonl"}})
	}
	var b bytes.Buffer
	if json {
		if err := ExploredJSON(&b, x, found); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if err := Explored(&b, base, x, term.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, c := range found {
		if err := CounterexampleText(&b, c, term.Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		c.Shrunk.Minimal, c.Shrunk.Stopped, c.Run = false, "the time limit of 30s", nil
		b.WriteString("\nWhere time ran out:\n")
		if err := CounterexampleText(&b, c, term.Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}
