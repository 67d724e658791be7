package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"lockpick/campaign/judge"
	"lockpick/checker"
)

// ResultFile is the file of an audit's result, in its folder of the store.
const ResultFile = "audit.json"

// Result is the report card: audit.json in the store, what --json prints, and, once it is
// committed, the baseline of later audits.
type Result struct {
	Folder      string            `json:"folder"` // that holds the evidence
	Lock        string            `json:"lock"`
	Client      []string          `json:"client,omitempty"`  // the command that ran as each client
	Library     string            `json:"library,omitempty"` // that it tests, as it says
	Driver      string            `json:"driver"`
	Budget      string            `json:"budget"`
	Seed        uint64            `json:"seed"`
	Started     time.Time         `json:"started"`
	Took        time.Duration     `json:"took"` // ns
	Interrupted bool              `json:"interrupted,omitempty"`
	Schedules   int               `json:"schedules"` // that were tried
	Leases      int               `json:"leases"`    // that were granted in them
	Versions    map[string]string `json:"versions"`
	Rows        []Row             `json:"situations"`
}

// Row is what one situation showed.
type Row struct {
	ID        string   `json:"id"`
	Group     string   `json:"group"`
	Name      string   `json:"name"`
	Says      string   `json:"says"`
	Breaks    string   `json:"breaks,omitempty"`
	Inherent  string   `json:"inherent,omitempty"` // why no lock keeps what is inherent
	Help      string   `json:"help,omitempty"`
	Skipped   string   `json:"skipped,omitempty"` // why it is not applicable
	Schedules int      `json:"schedules"`
	Leases    int      `json:"leases"`
	Cells     []Cell   `json:"cells"` // by level, in the order of Levels
	Notes     []string `json:"notes,omitempty"`
}

// Outcome is what a cell of the card says.
type Outcome string

const (
	Broken        Outcome = "broken"
	Inconclusive  Outcome = "inconclusive"
	Inherent      Outcome = "inherent" // broken, as every lock is in this situation
	Safe          Outcome = "safe"
	NotApplicable Outcome = "not applicable"
)

// Outcomes lists them, the worst first.
var Outcomes = []Outcome{Broken, Inconclusive, Inherent, Safe, NotApplicable}

// Cell is what a situation showed at one level.
type Cell struct {
	Level   string  `json:"level"`
	Outcome Outcome `json:"outcome"`
	// Findings are on the properties of the level that were judged, the worst first.
	Findings []Finding `json:"findings,omitempty"`
}

// Worst is the finding that decides the cell; nil: there is none.
func (c *Cell) Worst() *Finding {
	if len(c.Findings) == 0 {
		return nil
	}
	return &c.Findings[0]
}

// Finding is what a situation showed of one property.
type Finding struct {
	Property string  `json:"property"`
	Outcome  Outcome `json:"outcome"`
	Why      string  `json:"why,omitempty"`  // one sentence
	Help     string  `json:"help,omitempty"` // of inconclusive: what to do

	Schedules int                `json:"schedules"`          // that were judged
	Proven    int                `json:"proven"`             // of them, those that prove something
	Violated  int                `json:"violated,omitempty"` // of them
	Evidence  []checker.Evidence `json:"evidence,omitempty"` // of safe: that the schedules have together

	Case    string        `json:"case,omitempty"`    // the case of the situation that showed it
	Number  int           `json:"number,omitempty"`  // of the schedule of its case that violates it first, from 1
	Seed    uint64        `json:"seed,omitempty"`    // of that schedule
	After   time.Duration `json:"after,omitempty"`   // ns of real time since the case began until it was found
	At      time.Duration `json:"at,omitempty"`      // ns of that run until the violation began
	Faults  []string      `json:"faults,omitempty"`  // kinds that its reason names
	Reason  []string      `json:"reason,omitempty"`  // step by step
	Run     string        `json:"run,omitempty"`     // the folder below Folder that keeps it
	Command string        `json:"command,omitempty"` // that replays it

	Replayed *Replays `json:"replayed,omitempty"` // by Confirm
}

// Count is how many cells have each outcome.
func (r *Result) Count() map[Outcome]int {
	n := map[Outcome]int{}
	for i := range r.Rows {
		for _, c := range r.Rows[i].Cells {
			n[c.Outcome]++
		}
	}
	return n
}

// Verdict is violated if a cell is broken, and holds only if none is inconclusive.
func (r *Result) Verdict() checker.Verdict {
	n := r.Count()
	switch {
	case n[Broken] > 0:
		return checker.Violated
	case r.Interrupted:
		return checker.Unknown
	case n[Inconclusive] > 0 || n[Safe] == 0:
		return checker.Invalid
	}
	return checker.Holds
}

// cell is a row's cell of a level; nil: it has none.
func (r *Row) cell(level string) *Cell {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Level == level })
	if i < 0 {
		return nil
	}
	return &r.Cells[i]
}

// put adds a finding to the cell of its level. The worst come first.
func (c *Cell) put(f Finding) {
	c.Findings = append(c.Findings, f)
	slices.SortStableFunc(c.Findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(Outcomes, a.Outcome), slices.Index(Outcomes, b.Outcome))
	})
	c.Outcome = c.Findings[0].Outcome
}

func (r *Result) write(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(b, '\n'), 0o644)
	}
	if err != nil {
		return &judge.HarnessError{Err: fmt.Errorf("audit: %w", err)}
	}
	return nil
}
