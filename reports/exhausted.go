package reports

import (
	"fmt"
	"io"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/reports/story"
	"lockpick/reports/term"
	"lockpick/search/exhaust"
)

// Exhausted writes the result of an exhaustive search for a terminal: the verdict, the bounds, and
// the shortest counterexample as a story and as a diagram. kept is the counterexample's stored run;
// nil: it was not stored.
func Exhausted(w io.Writer, x *exhaust.Result, kept *judge.Result, opt term.Options) error {
	t := newTerminal(opt)
	t.headline(headline{Verdict: x.Verdict, Level: x.Judged.Level, Property: checker.TitleOf(x.Judged.Name), Why: x.Why})
	t.Title("Bounds")
	for _, line := range x.Bounds.Describe() {
		t.Text("  ", line)
	}
	t.Title("Counts")
	t.Text("", fmt.Sprintf("%s visited; %s, of %s in all; %s", term.Plural(x.States, "state"), term.Plural(x.Runs, "simulation"),
		term.Plural(int(x.Steps), "event"), term.Span(x.Elapsed.Round(10*time.Millisecond))))
	if x.Violation != nil {
		t.Title(fmt.Sprintf("Shortest counterexample: %s, violated at tick %d", term.Plural(x.Faults, "fault"), x.At/x.Bounds.Tick))
		t.WriteString(story.Prose(x.Violation, t.Width) + "\n" + story.Diagram(x.Violation, t.Width))
	}
	if kept != nil {
		t.where(kept)
	}
	return t.Flush(w)
}

// ExhaustedJSON writes the result as one JSON object. Its fields are a contract.
func ExhaustedJSON(w io.Writer, x *exhaust.Result, kept *judge.Result) error {
	type counterexample struct {
		Faults    int                  `json:"faults"`
		AtMS      float64              `json:"at_ms"`
		Violation *narrative.Violation `json:"violation"`
		Run       string               `json:"run"`
		Report    string               `json:"report"`
		History   string               `json:"history"`
	}
	out := struct {
		Driver         string          `json:"driver"`
		Bounds         exhaust.Bounds  `json:"bounds"`
		Verdicts       []verdictJSON   `json:"verdicts"`
		States         int             `json:"states"`
		Runs           int             `json:"runs"`
		Events         int64           `json:"events"`
		ElapsedMS      int64           `json:"elapsed_ms"`
		Counterexample *counterexample `json:"counterexample"`
	}{
		Driver: scenario.Sim, Bounds: x.Bounds, States: x.States, Runs: x.Runs, Events: x.Steps, ElapsedMS: x.Elapsed.Milliseconds(),
		Verdicts: []verdictJSON{{x.Judged.Name, x.Judged.Level, "", x.Verdict, x.Why}},
	}
	if v := x.Violation; v != nil {
		out.Verdicts[0].Key = v.Key
		out.Counterexample = &counterexample{Faults: x.Faults, AtMS: float64(x.At.Microseconds()) / 1000, Violation: v}
		if kept != nil {
			out.Counterexample.Run, out.Counterexample.Report, out.Counterexample.History = kept.Run, kept.Report, kept.History
		}
	}
	return term.WriteJSON(w, out)
}
