package audit

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/search"
)

// ResultFile is the file with an audit's result, in its folder of the store.
const ResultFile = "audit.json"

// Result is the report card: audit.json in the store, the output of --json, and, when it is
// committed, the baseline for later audits.
type Result struct {
	Lock    string   `json:"lock"`
	Client  []string `json:"client,omitempty"`  // the command that ran as each client
	Library string   `json:"library,omitempty"` // the library under test, as the client reports it
	Server  string   `json:"server,omitempty"`  // the program of the masters; empty: redis-server, or what the image starts
	One     bool     `json:"one,omitempty"`     // somebody said that the lock uses one master
	search.JobResult
	Schedules int   `json:"schedules"`        // number of schedules tried
	Leases    int   `json:"leases"`           // number of leases granted in them
	Errors    int   `json:"errors,omitempty"` // number of schedules that ended with an error of the harness
	Rows      []Row `json:"situations"`
}

// Row is the result of one situation.
type Row struct {
	ID        string   `json:"id"`
	Group     string   `json:"group"`
	Name      string   `json:"name"`
	Says      string   `json:"says"`
	Breaks    string   `json:"breaks,omitempty"`   // the assumption that it breaks, as a sentence
	Without   string   `json:"without,omitempty"`  // the assumption's name
	Inherent  string   `json:"inherent,omitempty"` // why no lock keeps the inherent properties
	Help      string   `json:"help,omitempty"`
	Skipped   string   `json:"skipped,omitempty"` // why it is not applicable
	Schedules int      `json:"schedules"`
	Leases    int      `json:"leases"`
	Cells     []Cell   `json:"cells"` // by level, in the order of Levels
	Notes     []string `json:"notes,omitempty"`
	Errors    []string `json:"errors,omitempty"` // of the schedules that ended with an error of the harness
	Complete  bool     `json:"complete"`         // all its schedules are done

	Hints   []judge.Hint  `json:"hints,omitempty"`  // rules of lockpick watch that the lock's commands broke
	Waiting judge.Waiting `json:"waiting,omitzero"` // the worst of all its schedules

	Untested map[string]string `json:"untested,omitempty"` // why a property that rests on votes has no result where the votes do not describe the lock, by its name
	TooFew   string            `json:"too_few,omitempty"`  // why it is not known how many masters the lock needs; empty: it is
}

// Outcome is the result of a finding, and of a cell the worst of its findings.
type Outcome string

const (
	Broken        Outcome = "broken"
	Inconclusive  Outcome = "inconclusive"
	Inherent      Outcome = "inherent" // broken because an assumption is broken on which every such lock rests
	Safe          Outcome = "safe"
	NotApplicable Outcome = "not applicable"
)

// Outcomes lists the outcomes, the worst first.
var Outcomes = []Outcome{Broken, Inconclusive, Inherent, Safe, NotApplicable}

// Cell is the result of one situation at one level.
type Cell struct {
	Level   string  `json:"level"`
	Outcome Outcome `json:"outcome"`
	// Findings has the judged properties of the level, the worst first.
	Findings []PropertyResult `json:"findings,omitempty"`
}

// Worst returns the finding that decides the cell; nil: there is none.
func (c *Cell) Worst() *PropertyResult {
	if len(c.Findings) == 0 {
		return nil
	}
	return &c.Findings[0]
}

// PropertyResult is the result of one situation for one property.
type PropertyResult struct {
	Property string  `json:"property"`
	Outcome  Outcome `json:"outcome"`
	Why      string  `json:"why,omitempty"`     // one sentence
	Help     string  `json:"help,omitempty"`    // if inconclusive: how to decide it
	Without  string  `json:"without,omitempty"` // if an assumption accounts for it that the situation does not break by itself: its name

	Schedules int                `json:"schedules"`          // number of schedules judged
	Proven    int                `json:"proven"`             // number of these that prove something
	Violated  int                `json:"violated,omitempty"` // number of these that violate the property
	Evidence  []checker.Evidence `json:"evidence,omitempty"` // if safe: the evidence of all schedules together

	Case    string        `json:"case,omitempty"`    // case of the situation with the violation
	Number  int           `json:"number,omitempty"`  // number of that case's first schedule with a violation, from 1
	Seed    uint64        `json:"seed,omitempty"`    // seed of that schedule
	After   time.Duration `json:"after,omitempty"`   // ns of real time from the beginning of the case to the violation
	At      time.Duration `json:"at,omitempty"`      // ns from the beginning of that run to the violation
	Faults  []string      `json:"faults,omitempty"`  // kinds of faults that the reason names
	Reason  []string      `json:"reason,omitempty"`  // step by step
	Run     string        `json:"run,omitempty"`     // folder of the run, below Folder
	Command string        `json:"command,omitempty"` // command that replays it

	Replayed *Replays `json:"replayed,omitempty"` // set by Confirm
}

// Count counts the cells with each outcome.
func (r *Result) Count() map[Outcome]int {
	n := map[Outcome]int{}
	for i := range r.Rows {
		for _, c := range r.Rows[i].Cells {
			n[c.Outcome]++
		}
	}
	return n
}

// Row returns the row of a situation; nil: there is none.
func (r *Result) Row(id string) *Row {
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.ID == id })
	if i < 0 {
		return nil
	}
	return &r.Rows[i]
}

// add adds the row of a situation.
func (r *Result) add(row Row) {
	r.Rows = append(r.Rows, row)
	r.Schedules, r.Leases, r.Errors = r.Schedules+row.Schedules, r.Leases+row.Leases, r.Errors+len(row.Errors)
}

// Hints returns the rules that the lock's commands broke in any situation.
func (r *Result) Hints() (all []judge.Hint) {
	for i := range r.Rows {
		all = judge.AddHints(all, r.Rows[i].Hints)
	}
	return all
}

// Verdict returns violated if a cell is broken. Otherwise it returns unknown if the audit was
// interrupted, invalid if a cell is inconclusive, none is safe, or a schedule ended with an error of the harness, and
// else holds.
func (r *Result) Verdict() checker.Verdict {
	n := r.Count()
	switch {
	case n[Broken] > 0:
		return checker.Violated
	case r.Interrupted:
		return checker.Unknown
	case n[Inconclusive] > 0 || n[Safe] == 0 || r.Errors > 0:
		return checker.Invalid
	}
	return checker.Holds
}

// cell returns a row's cell of a level; nil: it has none.
func (r *Row) cell(level string) *Cell {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Level == level })
	if i < 0 {
		return nil
	}
	return &r.Cells[i]
}

// put adds a finding, sorts the findings with the worst first, and sets the outcome of the cell.
func (c *Cell) put(f PropertyResult) {
	c.Findings = append(c.Findings, f)
	slices.SortStableFunc(c.Findings, func(a, b PropertyResult) int {
		return cmp.Compare(slices.Index(Outcomes, a.Outcome), slices.Index(Outcomes, b.Outcome))
	})
	c.Outcome = c.Findings[0].Outcome
}

func (r *Result) write() error { return search.WriteResult(filepath.Join(r.Folder, ResultFile), r) }
