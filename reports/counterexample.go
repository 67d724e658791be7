package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker/narrative"
	"lockpick/reports/story"
	"lockpick/reports/term"
	"lockpick/search"
	"lockpick/search/reduce"
)

// Counterexample is a violation, its shrunk form and its stored run. Found or Shrunk is not nil.
type Counterexample struct {
	Found  *search.Found        // nil: no exploration found it
	Shrunk *reduce.ShrinkResult // nil: not shrunk
	Run    *judge.Result        // nil: not stored
}

// CounterexampleText writes a counterexample for a terminal: the violation and its reason, the schedule that
// produces it, the result of shrinking, and the paths of its run.
func CounterexampleText(w io.Writer, c Counterexample, opt term.Options) error {
	t := newTerminal(opt)
	var s scenario.Scenario
	var v narrative.Violation
	switch {
	case c.Shrunk != nil:
		s, v = c.Shrunk.Scenario, c.Shrunk.Violation
	default:
		s, v = c.Found.Scenario, c.Found.Violation
	}
	t.Title("Counterexample")
	width := max(t.Width, 60)
	t.WriteString(story.Prose(&v, width))
	if drawn := story.Diagram(&v, width); drawn != "" {
		t.WriteString("\n" + drawn)
	}
	t.Title("Schedule")
	t.Text("  ", fmt.Sprintf("%s, %s, %s, %s, persistence %s, TTL %s, sections of %s, seed %d", s.Lock, term.Plural(s.Masters, "master"),
		term.Plural(s.Clients, "client"), term.Plural(s.Keys, "key"), s.Persistence, term.Span(s.TTL), s.Hold, s.Seed))
	for i, step := range s.Schedule {
		t.Text(fmt.Sprintf("  step %d: ", i+1), step.String())
	}
	if len(s.Schedule) == 0 {
		t.Text("  ", "faults: "+strings.Join(append(slices.Clone(s.Faults), "nemesis "+s.NemesisName()), ", "))
	}
	if c.Shrunk != nil {
		t.Title("How it was shrunk")
		for _, line := range shrunk(c.Shrunk) {
			t.Text("  ", line)
		}
	}
	if c.Run != nil {
		t.where(c.Run)
		fmt.Fprintf(t, "  %-12s %s replay %s --driver process\n", "on Redis", judge.Program, term.Printable(strings.TrimSuffix(c.Run.History, "/"+judge.HistoryFile)))
	}
	return t.Flush(w)
}

// shrunk describes the reductions, the rate of violations, and whether each fault is necessary.
func shrunk(z *reduce.ShrinkResult) []string {
	a, b := z.Before, z.Size
	change := func(from, to int, thing string) string {
		if from == to {
			return term.Plural(to, thing)
		}
		return fmt.Sprintf("%s instead of %s", term.Plural(to, thing), term.Count(from))
	}
	lines := []string{fmt.Sprintf("%s; %s; %s; %s; violated after %s instead of %s; by %s.",
		change(a.Faults, b.Faults, "fault"), change(a.Clients, b.Clients, "client"), change(a.Masters, b.Masters, "master"),
		change(a.Keys, b.Keys, "key"), term.Span(b.Time.Round(time.Millisecond)), term.Span(a.Time.Round(time.Millisecond)), term.Plural(z.Runs, "simulation"))}
	with := fmt.Sprintf("It violates %s with %d of %d seeds", z.Violation.Level, z.Rate, z.Seeds)
	switch {
	case z.Minimal && b.Faults == 0:
		lines = append(lines, with+", without any fault.")
	case z.Minimal:
		lines = append(lines, fmt.Sprintf("%s. Each fault is necessary: without any one of them, none of the %d seeds violates it.", with, z.Seeds))
	case z.Rarely:
		lines = append(lines, with+". Without one of the faults it does so, too, but more rarely.")
	default:
		lines = append(lines, fmt.Sprintf("%s. %s ended it before it was known whether each fault is necessary.", with, strings.ToUpper(z.Stopped[:1])+z.Stopped[1:]))
	}
	return lines
}

// CounterexampleJSON writes a counterexample as one JSON object.
func CounterexampleJSON(w io.Writer, c Counterexample) error { return term.WriteJSON(w, c.json()) }

// counterexampleJSON is the JSON form of a counterexample. Scripts rely on its fields: they are a
// contract.
type counterexampleJSON struct {
	Level    string   `json:"level"`
	Summary  string   `json:"summary"`
	Reason   []string `json:"why"`
	Seed     uint64   `json:"seed"`
	Faults   int      `json:"faults"` // steps of the schedule
	Clients  int      `json:"clients"`
	Masters  int      `json:"masters"`
	Schedule []string `json:"schedule"` // each step in words
	Shrunk   bool     `json:"shrunk"`
	Minimal  bool     `json:"minimal"` // each fault was found necessary
	Seeds    int      `json:"seeds"`   // seeds tried
	Rate     int      `json:"rate"`    // of these seeds, those that violate the property
	Run      string   `json:"run"`
	Report   string   `json:"report"`
	History  string   `json:"history"`
}

func (c Counterexample) json() *counterexampleJSON {
	out := &counterexampleJSON{}
	var s scenario.Scenario
	var v narrative.Violation
	if z := c.Shrunk; z != nil {
		s, v = z.Scenario, z.Violation
		out.Shrunk, out.Minimal, out.Seeds, out.Rate = true, z.Minimal, z.Seeds, z.Rate
	} else {
		s, v = c.Found.Scenario, c.Found.Violation
	}
	out.Level, out.Summary, out.Reason, out.Seed = v.Level, v.Summary, v.Steps(), s.Seed
	out.Faults, out.Clients, out.Masters, out.Schedule = len(s.Schedule), s.Clients, s.Masters, []string{}
	for _, step := range s.Schedule {
		out.Schedule = append(out.Schedule, step.String())
	}
	if r := c.Run; r != nil {
		out.Run, out.Report, out.History = r.Run, r.Report, r.History
	}
	return out
}
