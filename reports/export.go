package reports

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/reports/story"
)

// ExportFormat is a format of another tool, for a run or for one violation of it.
type ExportFormat struct {
	Name      string
	Extension string // of the file, with the dot
	Summary   string
	Violation bool // the format shows one violation instead of the whole run
	write     func(w io.Writer, x *Export) error
}

// Export is the input of an export: a run, and the violation for the formats that show only one.
type Export struct {
	History   *history.History
	Result    *judge.Result
	Violation *narrative.Violation // nil: there is none
	Key       string               // for formats of one key; empty: the violation's key, or the first of the history
}

// ExportFormats lists all formats in the order of the help texts.
var ExportFormats = []ExportFormat{
	{"perfetto", ".json", "trace events for ui.perfetto.dev: leases, sections, votes, faults", false, exportPerfetto},
	{"mermaid", ".mmd", "a sequence diagram of one violation, for Markdown pages", true, ofViolation(story.Mermaid)},
	{"svg", ".svg", "a picture of one violation, for slides", true, ofViolation(story.SVG)},
	{"card", ".card.svg", "a picture of one violation to share, 1200 by 630: verdict, lifelines, command", true, exportCard},
	{"edn", ".edn", "the history of one key as Knossos and elle-cli read it (model: mutex)", false, exportEDN},
	{"itf", ".itf.json", "one violation as a trace in the Informal Trace Format of model checkers", true, func(w io.Writer, x *Export) error { return story.ITF(w, x.Violation, x.Result.Run) }},
	{"csv", ".csv", "all operations, a row each", false, exportCSV},
	{"junit", ".xml", "the verdicts as JUnit XML, for CI", false, exportJUnit},
}

// ofViolation is a format that needs only the violation.
func ofViolation(render func(*narrative.Violation) string) func(io.Writer, *Export) error {
	return func(w io.Writer, x *Export) error {
		_, err := io.WriteString(w, render(x.Violation))
		return err
	}
}

// ErrNothingToShow means that a format shows a violation and the run has none that is explained.
var ErrNothingToShow = errors.New("nothing to show")

// ExportFormatNamed returns the format with this name, and whether it exists.
func ExportFormatNamed(name string) (ExportFormat, bool) {
	for _, f := range ExportFormats {
		if f.Name == name {
			return f, true
		}
	}
	return ExportFormat{}, false
}

// Write writes x in the format. It returns ErrNothingToShow if the format shows a violation and x
// has none with events.
func (f ExportFormat) Write(w io.Writer, x *Export) error {
	if f.Violation && (x.Violation == nil || len(x.Violation.Events) == 0) {
		return fmt.Errorf("%w: the format %s shows a violation, and this run has none that is explained", ErrNothingToShow, f.Name)
	}
	if err := f.write(w, x); err != nil {
		return fmt.Errorf("reports: export as %s: %w", f.Name, err)
	}
	return nil
}

// key returns the key for formats of one key; empty if the history has no key.
func (x *Export) key() string {
	if x.Key != "" {
		return x.Key
	}
	if x.Violation != nil && x.Violation.Key != "" {
		return x.Violation.Key
	}
	for i := range x.History.Ops {
		if k := x.History.Ops[i].Key; k != "" {
			return k
		}
	}
	return ""
}

// csvSeconds formats a time in seconds without rounding it.
func csvSeconds(t time.Duration) string {
	return strconv.FormatFloat(t.Seconds(), 'f', -1, 64)
}

// exportCSV writes one row per operation. Times are in seconds.
func exportCSV(w io.Writer, x *Export) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"index", "time_s", "process", "type", "f", "key", "token", "valid_until_s", "fence", "client", "command", "yes",
		"took_s", "ttl_s", "fault", "phase", "masters", "clients", "error"})
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	span := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return csvSeconds(d)
	}
	for i := range x.History.Ops {
		op := &x.History.Ops[i]
		v := op.Value
		if v == nil {
			v = &history.Value{}
		}
		yes := ""
		if op.F == history.FVote {
			yes = strconv.FormatBool(v.Yes)
		}
		_ = out.Write([]string{strconv.Itoa(op.Index), csvSeconds(op.Time), op.Process, string(op.Type), op.F, op.Key, v.Token, span(v.ValidUntil), number(v.Fence),
			v.Client, v.Command, yes, span(v.Took), span(v.TTL), number(int64(v.ID)), v.Phase, strings.Join(v.Masters, " "), strings.Join(v.Clients, " "), op.Error})
	}
	out.Flush()
	return out.Error()
}
