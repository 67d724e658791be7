package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBattery: the battery is well-formed, and covers every level and kind of lock.
func TestBattery(t *testing.T) {
	all := Battery()
	judged := map[string]bool{}
	for _, s := range all {
		for _, name := range s.Judges {
			level := name
			if l := checker.Named(name).Level; l != "" {
				level = l
			}
			judged[level] = true
		}
		if !strings.HasSuffix(s.Says, ".") || s.Breaks != "" && s.Assumption() == "" || s.Why != "" && !strings.HasSuffix(s.Why, ".") {
			t.Errorf("%s: its sentences have no end", s.ID)
		}
	}
	for _, l := range Levels() {
		if !judged[l] {
			t.Errorf("no situation judges %s", l)
		}
	}
}

// TestBatteryErrors: what is wrong with a battery is found, with its place.
func TestBatteryErrors(t *testing.T) {
	for says, text := range map[string]string{
		"7:34: situation x: cases[0].scenario.masters: 99 is out of range": "title: T\nsituations:\n  - id: x\n    name: n\n    says: s.\n    judges: [L2]\n    cases: [{scenario: {masters: 99}}]\n",
		"6:14: situation x: judges[0]: \"L9\" is unknown":                  "title: T\nsituations:\n  - id: x\n    name: n\n    says: s.\n    judges: [L9]\n    cases: [{scenario: {masters: 3}}]\n",
		"what is inherent has a reason":                                    "title: T\nsituations:\n  - id: x\n    name: n\n    says: s.\n    judges: [L2]\n    inherent: [L2]\n    cases: [{scenario: {masters: 3}}]\n",
		"names folders":                                                    "title: T\nsituations:\n  - id: X Y\n    name: n\n    says: s.\n    judges: [L2]\n    cases: [{}]\n",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// TestProblems: what the user can mend is a problem of a field.
func TestProblems(t *testing.T) {
	good := Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Store: campaign.Store{Dir: t.TempDir()}}, Lock: "textbook"}
	for field, change := range map[string]func(*Options){
		"lock":   func(o *Options) { o.Lock = "no-such-lock" },
		"budget": func(o *Options) { o.Budget = "huge" },
		"driver": func(o *Options) { o.Driver = "cloud" },
		"only":   func(o *Options) { o.Only = []string{"quiet", "loud"} },
		"client": func(o *Options) { o.Client = []string{"true"} },
	} {
		opt := good
		change(&opt)
		var problem *scenario.Problem
		if _, err := Run(t.Context(), opt); !errors.As(err, &problem) || problem.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if entries, err := os.ReadDir(good.Store.Dir); err != nil || len(entries) > 0 {
		t.Errorf("%d folders are left, %v", len(entries), err)
	}
}

// TestInterrupted: what was tried before the end counts, and the rest is inconclusive.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := Run(ctx, Options{
		JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: 1, Workers: 1, Store: campaign.Store{Dir: t.TempDir()},
			Live: func(done, _ int, _ func() string) {
				if done == 2 {
					cancel()
				}
			},
		}, Lock: "redlock-plain-del", Only: []string{"far-apart", "long-ttl"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || r.Schedules != 2 || r.Verdict() != checker.Violated {
		t.Errorf("interrupted %v, %d schedules, %s", r.Interrupted, r.Schedules, r.Verdict())
	}
	if got := outcome(r, "far-apart", checker.OwnKeys.Name); got != Broken {
		t.Errorf("own keys is %s after two schedules", got)
	}
	c := r.Rows[0].cell("L2") // long-ttl comes first in the battery
	for i := range r.Rows {
		if r.Rows[i].ID == "long-ttl" {
			c = r.Rows[i].cell("L2")
		}
	}
	if c.Outcome != Inconclusive || !strings.Contains(c.Worst().Why, "interrupted") {
		t.Errorf("what was never tried is %s: %+v", c.Outcome, c.Worst())
	}
}

// TestEvidenceIsKept: what is broken has a run that violates the property again, what is
// inherent a scenario.
func TestEvidenceIsKept(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	r, err := Run(t.Context(), Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: 1, Most: 1, Store: store}, Lock: "redlock-plain-del", Only: []string{"overrun", "restart-forgets"}})
	if err != nil {
		t.Fatal(err)
	}
	violated := func(s scenario.Scenario, property string) bool {
		h, err := campaign.Record(t.Context(), s, campaign.Simulation{}.Driver(), campaign.Options{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := judge.History(h)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := again.FirstViolation([]string{property})
		return v != nil
	}
	seen := map[Outcome]int{}
	for i := range r.Rows {
		for _, c := range r.Rows[i].Cells {
			f := c.Worst()
			if f == nil || f.Violated == 0 {
				continue
			}
			seen[f.Outcome]++
			path := strings.TrimPrefix(f.Command, "lockpick run ")
			if f.Outcome == Broken {
				path = filepath.Join(r.Folder, f.Run, judge.ScenarioFile)
				if f.Command != "lockpick run "+path+" --property "+f.Property {
					t.Error(f.Command)
				}
			}
			s, err := scenario.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if !violated(s, f.Property) {
				t.Errorf("%s %s: %s does not violate it again", r.Rows[i].ID, f.Property, path)
			}
		}
	}
	if seen[Broken] == 0 || seen[Inherent] == 0 {
		t.Errorf("seen: %v", seen)
	}
	again, err := ReadResult(filepath.Join(r.Folder, ResultFile))
	if err != nil || len(again.Compare(r.Baseline())) > 0 {
		t.Errorf("the result does not read back: %v", err)
	}
}

// TestFewRunsAreKept: what is broken everywhere keeps a few runs, and a scenario for each other
// situation.
func TestFewRunsAreKept(t *testing.T) {
	only := []string{"overrun", "far-apart", "odd-ttl", "long-ttl", "cancelled"}
	r := audited(t, "redlock-plain-del", 1, only...)
	runs, scenarios := map[string]int{}, map[string]int{}
	for i := range r.Rows {
		for _, c := range r.Rows[i].Cells {
			for _, f := range c.Findings {
				switch {
				case f.Outcome == Broken && f.Run != "":
					runs[f.Property]++
				case f.Outcome == Broken:
					scenarios[f.Property]++
					if _, err := scenario.Load(strings.TrimPrefix(f.Command, "lockpick run ")); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
	if p := checker.OwnKeys.Name; runs[p] < mostRuns || scenarios[p] == 0 || runs[p]+scenarios[p] != len(only) {
		t.Errorf("%d runs and %d scenarios of %d situations", runs[p], scenarios[p], len(only))
	}
}

// card is a result with one row for each outcome.
func card(outcomes ...Outcome) *Result {
	r := &Result{JobResult: search.JobResult{Driver: "sim", Versions: map[string]string{}}, Lock: "mine"}
	for i, o := range outcomes {
		row := Row{ID: []string{"a", "b", "c", "d"}[i], Cells: []Cell{{Level: "L2", Outcome: o}}}
		if o != NotApplicable {
			row.Cells[0].Findings = []PropertyResult{{Property: "mutual-exclusion", Outcome: o}}
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

// TestVerdicts: the worst cell decides, and what shows nothing is not safe.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		r    *Result
		want checker.Verdict
	}{
		{card(Safe, Inherent, NotApplicable), checker.Holds},
		{card(Safe, Inconclusive), checker.Invalid},
		{card(Safe, Inconclusive, Broken), checker.Violated},
		{card(Inherent), checker.Invalid},
		{card(NotApplicable), checker.Invalid},
		{&Result{JobResult: search.JobResult{Interrupted: true}, Rows: card(Safe).Rows}, checker.Unknown},
	} {
		if got := c.r.Verdict(); got != c.want {
			t.Errorf("%v: %s, want %s", c.r.Count(), got, c.want)
		}
	}
}

// TestCompare: only what is broken now and was not before is worse.
func TestCompare(t *testing.T) {
	before := card(Safe, Broken, Inherent)
	for _, c := range []struct {
		now   *Result
		worse int
		all   int
	}{
		{card(Safe, Broken, Inherent), 0, 0},
		{card(Broken, Broken, Inherent), 1, 1},
		{card(Safe, Safe, Inherent), 0, 1},
		{card(Inconclusive, Broken, Inherent), 0, 1},
		{card(Safe, Broken, Broken), 1, 1},
		{card(Safe, Broken, Inherent, Broken), 1, 1},
	} {
		changes := c.now.Compare(before)
		worse := slices.DeleteFunc(slices.Clone(changes), func(x Change) bool { return !x.Worse })
		if len(changes) != c.all || len(worse) != c.worse {
			t.Errorf("%v: %+v", c.now.Count(), changes)
		}
	}
	path := filepath.Join(t.TempDir(), "baseline.json")
	if err := before.WriteBaseline(path); err != nil {
		t.Fatal(err)
	}
	again, err := ReadResult(path)
	if err != nil || len(again.Compare(before)) > 0 || before.Comparable(again) != nil {
		t.Errorf("a baseline does not read back: %v", err)
	}
	again.Lock = "yours"
	if before.Comparable(again) == nil {
		t.Error("a baseline of another lock is taken")
	}
	if err := os.WriteFile(path, []byte(`{"claims":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadResult(path); err == nil {
		t.Error("what is not a result of an audit is taken for one")
	}
}

// TestReasonsNameNoFlagsOfARun: an audit has no --clients and no --time-limit, so no cell that proves too little asks for them.
func TestReasonsNameNoFlagsOfARun(t *testing.T) {
	r, err := Run(t.Context(), Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: 1, Most: 1, Store: campaign.Store{Dir: t.TempDir()}}, Lock: "single", Only: []string{"overrun", "dead-holder"}})
	if err != nil {
		t.Fatal(err)
	}
	short := 0
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			for _, f := range c.Findings {
				if f.Outcome == Inconclusive {
					short++
				}
				if strings.Contains(f.Why, "--") {
					t.Errorf("%s, %s: %s", row.ID, f.Property, f.Why)
				}
			}
		}
	}
	if short == 0 {
		t.Error("no cell proves too little")
	}
}
