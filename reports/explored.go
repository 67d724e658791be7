package reports

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/reports/term"
	"lockpick/search"
)

// Explored writes the result of an exploration for a terminal.
func Explored(w io.Writer, base scenario.Scenario, x *search.ExploreResult, opt term.Options) error {
	t := newTerminal(opt)
	head := headline{Verdict: x.Verdict(), Why: "interrupted before anything was found"}
	for _, l := range x.Properties {
		if l.Verdict == head.Verdict {
			head.Level, head.Property, head.Why = l.Level, checker.TitleOf(l.Name), l.Why
			break
		}
	}
	t.headline(head)
	t.WriteByte('\n')
	t.Text("", fmt.Sprintf("%s: lock %s; masters %d; persistence %s; TTL %s; %s, %s of virtual time%s; %s",
		base.WithRequirements().Name, base.Lock, base.Masters, base.Persistence, term.Span(base.TTL), term.Plural(x.Schedules, "schedule"),
		term.Span(x.Simulated.Round(time.Second)), elapsed(x), chosen(x)))
	for _, m := range x.Missing {
		t.Text("Note: ", m+".")
	}
	if x.Interrupted {
		t.Text("Note: ", "it was interrupted: this is what had been tried by then.")
	}
	t.Title("Verdicts")
	verdicts := term.Grid{Header: []string{"Level", "Property", "Verdict", "Why"}, Wide: 3}
	for _, l := range x.Properties {
		verdicts.Rows = append(verdicts.Rows, []string{l.Level, checker.TitleOf(l.Name), t.Colors.Verdict(l.Verdict, l.Verdict.Word()), l.Why})
	}
	t.Table(&verdicts)
	for i, caveat := range x.Caveats() {
		if i == 0 {
			t.WriteByte('\n')
		}
		t.Text("", caveat)
	}
	t.Title("Counts")
	var shapes []string
	for _, s := range []string{"schedule", scenario.Guided, scenario.Random, "none", scenario.Uniform + " scheduler", scenario.PCT + " scheduler"} {
		if n := x.Shapes[s]; n > 0 {
			shapes = append(shapes, fmt.Sprintf("%s %s", cmp.Or(plainer[s], s), term.Count(n)))
		}
	}
	t.Text("", "schedules: "+strings.Join(shapes, ", ")+"; "+strings.Join(texts(countsIn(x.Counts)), "; "))
	t.coverage(x)
	if len(x.Found) > 0 {
		t.Title("Violations")
		g := term.Grid{Header: []string{"Schedule", "Seed", "Times", "Property and the faults that explain it"}, Wide: 3, Right: []int{0, 1, 2}}
		for _, f := range x.Found {
			g.Rows = append(g.Rows, []string{term.Count(f.Number), fmt.Sprint(f.Seed), term.Count(f.Count), f.Reason})
		}
		t.Table(&g)
	}
	return t.Flush(w)
}

// chosen says how to repeat the schedules.
func chosen(x *search.ExploreResult) string {
	return fmt.Sprintf("--seed %d draws the same schedules again", x.Seed)
}

// elapsed says how long the exploration took; empty: merged shards have no duration.
func elapsed(x *search.ExploreResult) string {
	if x.Elapsed == 0 {
		return ""
	}
	return " in " + term.Span(x.Elapsed.Round(10*time.Millisecond))
}

// plainer renames the kinds of schedules that need other words outside a scenario.
var plainer = map[string]string{"schedule": "explicit", "none": "without faults"}

// coverage writes the table of faults: how many of each kind, and in which step of the protocol
// they struck the clients.
func (t *terminal) coverage(x *search.ExploreResult) {
	t.Title("Faults, and what the clients did that they struck")
	g := term.Grid{Header: append([]string{"Kind", "Installed", "Effective", "Skipped"}, search.ProtocolSteps...), Right: []int{1, 2, 3, 4, 5, 6, 7, 8, 9}}
	for _, kind := range slices.Sorted(maps.Keys(x.Kinds)) {
		b := x.Kinds[kind]
		row := []string{kind, term.Count(b.Installed), term.Count(b.TookEffect), term.Count(b.Skipped)}
		for _, step := range search.ProtocolSteps {
			row = append(row, term.Count(x.Coverage[kind][step]))
		}
		g.Rows = append(g.Rows, row)
	}
	if len(g.Rows) == 0 {
		t.Text("", "No fault was drawn.")
		return
	}
	t.Table(&g)
}

// ExploredJSON writes the result of an exploration as one JSON object. Its fields are a contract.
func ExploredJSON(w io.Writer, x *search.ExploreResult, found []Counterexample) error {
	type verdict struct {
		Property   string           `json:"property"`
		Level      string           `json:"level"`
		Verdict    checker.Verdict  `json:"verdict"`
		Conclusive int              `json:"conclusive"`     // schedules in which the property holds or is violated
		Violated   int              `json:"violated"`       // of these, those that violate it
		Bound      *float64         `json:"bound"`          // null: does not hold, or chosen by coverage
		Rate       *search.Interval `json:"rate"`           // null: not violated, ended by it, or by coverage
		Lacking    map[string]int   `json:"proved_nothing"` // why others are inconclusive, with counts
		Why        string           `json:"why"`
	}
	type violation struct {
		Schedule       int                 `json:"schedule"`
		Seed           uint64              `json:"seed"`
		Property       string              `json:"property"`
		Level          string              `json:"level"`
		Reason         string              `json:"reason"`
		Faults         []string            `json:"faults"` // faults that explain it
		Schedules      int                 `json:"schedules"`
		Counterexample *counterexampleJSON `json:"counterexample"`
	}
	out := struct {
		Seed        uint64                       `json:"seed"`
		Schedules   int                          `json:"schedules"`
		Interrupted bool                         `json:"interrupted"`
		Missing     []string                     `json:"missing,omitempty"` // after a merge: the shards that are missing
		ElapsedMS   int64                        `json:"elapsed_ms"`
		SimulatedMS int64                        `json:"simulated_ms"`
		Verdict     checker.Verdict              `json:"verdict"`
		Confidence  float64                      `json:"confidence"` // of all bounds and rates together
		Statements  int                          `json:"statements"` // number of these bounds and rates
		Settled     bool                         `json:"settled"`    // ended early: everything requested is violated
		Verdicts    []verdict                    `json:"verdicts"`
		Counts      judge.Counts                 `json:"counts"`
		Faults      map[string]search.FaultCount `json:"faults"`
		Coverage    search.Coverage              `json:"coverage"`
		Violations  []violation                  `json:"violations"`
	}{
		Seed: x.Seed, Schedules: x.Schedules, Interrupted: x.Interrupted, Missing: x.Missing, ElapsedMS: x.Elapsed.Milliseconds(), SimulatedMS: x.Simulated.Milliseconds(),
		Confidence: search.Confidence, Statements: x.Statements, Settled: x.Settled,
		Verdict: x.Verdict(), Counts: x.Counts, Faults: map[string]search.FaultCount{}, Coverage: x.Coverage, Violations: []violation{},
	}
	for kind, b := range x.Kinds {
		out.Faults[kind] = *b
	}
	for _, l := range x.Properties {
		v := verdict{l.Name, l.Level, l.Verdict, l.Conclusive, l.Violated, nil, l.Rate, l.Lacking, l.Why}
		if l.Verdict == checker.Holds {
			v.Bound = &l.Bound
		}
		if v.Lacking == nil {
			v.Lacking = map[string]int{}
		}
		out.Verdicts = append(out.Verdicts, v)
	}
	for i := range x.Found {
		f := &x.Found[i]
		v := violation{Schedule: f.Number, Seed: f.Seed, Property: f.Property.Name, Level: f.Property.Level, Reason: f.Reason, Faults: append([]string{}, f.Faults...), Schedules: f.Count}
		for _, c := range found {
			if c.Found == f {
				v.Counterexample = c.json()
			}
		}
		out.Violations = append(out.Violations, v)
	}
	return term.WriteJSON(w, out)
}
