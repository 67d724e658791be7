// Package diff compares two runs: their scenarios, verdicts, rates of violations, latencies and counts.
//
// Open reads a run of a store, with the course of its history (course.go). Compare finds what differs, and fields.go
// names the changed fields of the scenario. A Comparison is written for a terminal or as JSON; package serve makes a page
// of its Tables and Lanes.
package diff

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/reports/term"
)

// Run is one side of a comparison.
type Run struct {
	Name     string             // shown in reports
	Scenario *scenario.Scenario // nil: the run has none
	Result   *judge.Result
	Course   *Course // nil: the run has no history
}

// Open reads the scenario, the result and the history of a run. name is its folder, its name
// in the store, or latest. If the run has no result, for example because its harness was killed,
// OpenDiffRun judges its history.
func Open(store campaign.Store, name string) (run Run, err error) {
	dir, err := store.Find(name)
	if err != nil {
		return run, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // latest may soon point to another run
	}
	run.Name = filepath.Base(dir)
	switch s, err := scenario.Load(filepath.Join(dir, judge.ScenarioFile)); {
	case err == nil:
		run.Scenario = &s
	case !errors.Is(err, os.ErrNotExist):
		return run, err
	}
	run.Result, err = judge.ReadResult(dir)
	if errors.Is(err, os.ErrNotExist) {
		_, run.Result, err = judge.PackedFile(filepath.Join(dir, judge.HistoryFile))
	}
	if err != nil {
		return run, err
	}
	run.Course, err = courseOf(dir)
	if errors.Is(err, os.ErrNotExist) {
		err = nil // the run kept only its result
	}
	return run, err
}

// Comparison holds the differences between two runs. Its fields in JSON are a contract.
type Comparison struct {
	Before      string          `json:"before"`
	After       string          `json:"after"`
	Missing     []string        `json:"missing_scenarios"` // runs without one; if any, Configured is empty
	Configured  []Change        `json:"configured"`
	Verdicts    []Change        `json:"verdicts"`
	Violations  []RateChange    `json:"violations"`
	Counts      []RateChange    `json:"counts"`
	Latencies   []LatencyChange `json:"latencies"`
	DurationsNS [2]int64        `json:"durations_ns"`

	Lanes []Lane `json:"-"`
}

// Change is a value that differs between the runs.
type Change struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// RateChange is a number of events that differs, with the rate per minute in each run; a rate is
// nil if the run has no duration.
type RateChange struct {
	Name      string      `json:"name"`
	Before    int         `json:"before"`
	After     int         `json:"after"`
	PerMinute [2]*float64 `json:"per_minute"`
	// Interval has 95 % intervals of the two rates; only violations have them.
	Interval [2]*[2]float64 `json:"interval_per_minute"`
}

// Compare returns the differences between two runs.
func Compare(a, b Run) *Comparison {
	d := &Comparison{
		Before: a.Name, After: b.Name, Missing: []string{}, Configured: []Change{}, Verdicts: []Change{},
		Violations: []RateChange{}, Counts: []RateChange{},
		DurationsNS: [2]int64{int64(a.Result.Duration), int64(b.Result.Duration)},
	}
	for _, run := range []Run{a, b} {
		if run.Scenario == nil {
			d.Missing = append(d.Missing, run.Name)
		}
	}
	if len(d.Missing) == 0 {
		d.Configured = changedFields(reflect.ValueOf(*a.Scenario), reflect.ValueOf(*b.Scenario))
	}
	if x, y := a.Result.Conclude(a.Result.Properties).Verdict, b.Result.Conclude(b.Result.Properties).Verdict; x != y {
		d.Verdicts = append(d.Verdicts, Change{"overall", string(x), string(y)})
	}
	for _, p := range checker.Properties {
		x, y := verdictOn(a.Result, p), verdictOn(b.Result, p)
		if x.Verdict != y.Verdict {
			d.Verdicts = append(d.Verdicts, Change{p.Level + " " + p.Name, string(x.Verdict), string(y.Verdict)})
		}
		if x.Count != y.Count {
			change := rates(p.Level+" "+p.Name, x.Count, y.Count, a.Result, b.Result)
			change.Interval = [2]*[2]float64{rateInterval(x.Count, a.Result.Duration), rateInterval(y.Count, b.Result.Duration)}
			d.Violations = append(d.Violations, change)
		}
	}
	d.Latencies, d.Lanes = latencies(a.Course, b.Course), lanes(d, a.Course, b.Course)
	x, y := reflect.ValueOf(a.Result.Counts), reflect.ValueOf(b.Result.Counts)
	for i := range x.NumField() {
		if m, n := int(x.Field(i).Int()), int(y.Field(i).Int()); m != n {
			d.Counts = append(d.Counts, rates(fieldName(x.Type().Field(i), "json"), m, n, a.Result, b.Result))
		}
	}
	return d
}

func fieldName(f reflect.StructField, tag string) string {
	name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
	return name
}

// verdictOn returns the result of a run for a property, or one that is not tested.
func verdictOn(r *judge.Result, p checker.Property) checker.Result {
	if v := r.ResultOf(p); v != nil {
		return *v
	}
	return checker.Result{Verdict: judge.NotTested}
}

func rates(name string, a, b int, ra, rb *judge.Result) RateChange {
	return RateChange{Name: name, Before: a, After: b, PerMinute: [2]*float64{PerMinute(a, ra.Duration), PerMinute(b, rb.Duration)}}
}

// PerMinute returns the rate of n events within d; nil: d is not positive.
func PerMinute(n int, d time.Duration) *float64 {
	if d <= 0 {
		return nil
	}
	rate := float64(n) / d.Minutes()
	return &rate
}

// Table is one table of a comparison.
type Table struct {
	Title, Same string // Same replaces the rows if there are none
	Rows        []Change
}

// Tables renders a comparison as tables of text.
func (d *Comparison) Tables() []Table {
	const same = "no differences"
	configured := same
	if len(d.Missing) > 0 {
		configured = "cannot be compared: no scenario.yaml in a run"
	}
	var verdicts []Change
	for _, c := range d.Verdicts {
		verdicts = append(verdicts, Change{c.Name, checker.Verdict(c.Before).Word(), checker.Verdict(c.After).Word()})
	}
	return []Table{
		{"Configured", configured, d.Configured},
		{"Verdicts", same, verdicts},
		{"Violations (per minute, and the rate's 95 % interval)", same, rateChanges(d.Violations)},
		{"Latencies", "no calls whose lines were kept", latencyChanges(d.Latencies)},
		{"Counts (per minute)", same, rateChanges(d.Counts)},
	}
}

// Terminal writes a comparison for a terminal of width columns.
func Terminal(w io.Writer, d *Comparison, width int) error {
	var out strings.Builder
	line := func(indent, text string) {
		for i, l := range term.Lines(text, width-len(indent)-2) {
			if i > 0 {
				l = "  " + l
			}
			fmt.Fprintf(&out, "%s%s\n", indent, l)
		}
	}
	line("", "before: "+term.Printable(d.Before))
	line("", "after:  "+term.Printable(d.After))
	for _, part := range d.Tables() {
		out.WriteByte('\n')
		line("", part.Title)
		for _, c := range part.Rows {
			line("  ", fmt.Sprintf("%s: %s → %s", c.Name, term.Printable(c.Before), term.Printable(c.After)))
		}
		if len(part.Rows) == 0 {
			line("  ", part.Same)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// countWords translates the JSON name of a count into words.
func countWords(name string) string {
	if text, ok := map[string]string{
		"operations": "lines of the history", "granted": "leases granted", "refused": "acquires refused", "extended": "extensions granted",
		"writes": "writes applied", "votes": "replies of masters", "no_reply": "commands without a reply", "skipped": "faults skipped",
		"bit": "faults that took effect", "pauses": "pauses of clients",
	}[name]; ok {
		return text
	}
	return strings.ReplaceAll(name, "_", " ")
}

// rateChanges renders counts and their rates as text.
func rateChanges(list []RateChange) (all []Change) {
	for _, c := range list {
		text := func(n, run int) string {
			rate, interval := c.PerMinute[run], c.Interval[run]
			if rate == nil {
				return term.Count(n)
			}
			if interval == nil {
				return fmt.Sprintf("%s (%s)", term.Count(n), RateText(rate))
			}
			return fmt.Sprintf("%s (%s, %s to %s)", term.Count(n), RateText(rate), RateText(&interval[0]), RateText(&interval[1]))
		}
		all = append(all, Change{countWords(c.Name), text(c.Before, 0), text(c.After, 1)})
	}
	return all
}

func latencyChanges(list []LatencyChange) (all []Change) {
	for _, c := range list {
		all = append(all, Change{c.Name, c.Before.String(), c.After.String()})
	}
	return all
}

// RateText formats a rate with one decimal, or as a dash if there is none.
func RateText(rate *float64) string {
	if rate == nil {
		return "–"
	}
	return strconv.FormatFloat(*rate, 'f', 1, 64)
}
