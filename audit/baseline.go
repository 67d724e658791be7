package audit

import (
	"fmt"
	"slices"
	"strings"

	"lockpick/checker"
	"lockpick/search"
)

// ReadResult reads the result of an audit, or a baseline, from a file.
func ReadResult(path string) (*Result, error) {
	r, err := search.ReadResult[Result](path, "audit")
	if err != nil {
		return nil, err
	}
	if r.Lock == "" || len(r.Rows) == 0 {
		return nil, fmt.Errorf("audit: %s is not a result of lockpick audit: it names no lock, or no situation", path)
	}
	return r, nil
}

// Baseline returns the result without the fields that differ between two audits of the same code:
// times, folders and the texts of the evidence.
func (r *Result) Baseline() *Result {
	b := &Result{Lock: r.Lock, Client: r.Client, Library: r.Library, JobResult: r.JobResult.Baseline()}
	for _, row := range r.Rows {
		lean := Row{ID: row.ID, Group: row.Group, Name: row.Name, Skipped: row.Skipped}
		for _, c := range row.Cells {
			cell := Cell{Level: c.Level, Outcome: c.Outcome}
			for _, f := range c.Findings {
				cell.Findings = append(cell.Findings, PropertyResult{Property: f.Property, Outcome: f.Outcome, Schedules: f.Schedules, Proven: f.Proven, Violated: f.Violated, Faults: f.Faults})
			}
			lean.Cells = append(lean.Cells, cell)
		}
		b.Rows = append(b.Rows, lean)
	}
	return b
}

// WriteBaseline writes the result as a baseline to a file.
func (r *Result) WriteBaseline(path string) error { return search.WriteResult(path, r.Baseline()) }

// Comparable returns an error if a baseline is of another lock, driver or client command.
func (r *Result) Comparable(before *Result) error {
	for _, x := range []struct{ what, was, is string }{
		{"lock", before.Lock, r.Lock}, {"driver", before.Driver, r.Driver}, {"command", strings.Join(before.Client, " "), strings.Join(r.Client, " ")},
	} {
		if x.was != x.is {
			return fmt.Errorf("the baseline is of the %s %q, and this audit of %q: give each a baseline of its own", x.what, x.was, x.is)
		}
	}
	return nil
}

// Change is one difference between a result and its baseline.
type Change struct {
	Situation string  `json:"situation"` // id of the situation
	Level     string  `json:"level"`
	Property  string  `json:"property,omitempty"` // the newly broken property; empty: none
	Before    Outcome `json:"before"`
	Now       Outcome `json:"now"`
	Worse     bool    `json:"worse"` // newly broken, which a baseline is to detect
}

// Compare returns the differences from a baseline. A property that is broken now, but was not
// broken in the baseline, is newly broken. Situations that were not tried this time do not count.
func (r *Result) Compare(before *Result) []Change {
	old := map[string]*Cell{}
	was := map[string]Outcome{} // by situation and property
	for i := range before.Rows {
		row := &before.Rows[i]
		for j := range row.Cells {
			c := &row.Cells[j]
			old[row.ID+" "+c.Level] = c
			for _, f := range c.Findings {
				was[row.ID+" "+f.Property] = f.Outcome
			}
		}
	}
	var changes []Change
	for i := range r.Rows {
		row := &r.Rows[i]
		for j := range row.Cells {
			c := &row.Cells[j]
			newly := false
			for _, f := range c.Findings {
				if o := was[row.ID+" "+f.Property]; f.Outcome == Broken && o != Broken {
					if o == "" {
						o = NotApplicable
					}
					changes = append(changes, Change{row.ID, c.Level, f.Property, o, Broken, true})
					newly = true
				}
			}
			then := NotApplicable
			if o := old[row.ID+" "+c.Level]; o != nil {
				then = o.Outcome
			}
			if !newly && then != c.Outcome {
				changes = append(changes, Change{Situation: row.ID, Level: c.Level, Before: then, Now: c.Outcome})
			}
		}
	}
	return changes
}

// Judged is a result with the baseline that it is judged by. Everything that shows a verdict, from the exit code to
// JUnit, takes it from here.
type Judged struct {
	*Result
	Before  *Result // nil: no baseline
	Strict  bool    // what is newly inconclusive counts, too
	Changes []Change
}

// Judge compares a result with a baseline, which may be nil.
func Judge(r, before *Result, strict bool) (*Judged, error) {
	j := &Judged{Result: r, Before: before, Strict: strict}
	if before != nil {
		if err := r.Comparable(before); err != nil {
			return nil, err
		}
		j.Changes = r.Compare(before)
	}
	return j, nil
}

// Counts reports whether a cell of a situation counts for the verdict: with a baseline, one that is newly broken,
// and of a strict judgement one that is newly inconclusive; without, any that is broken or inconclusive.
func (j *Judged) Counts(situation string, c *Cell) bool {
	if j.Before == nil {
		return c.Outcome == Broken || c.Outcome == Inconclusive
	}
	return slices.ContainsFunc(j.Changes, func(x Change) bool {
		return x.Situation == situation && x.Level == c.Level && (x.Worse || j.Strict && x.Now == Inconclusive)
	})
}

// Verdict returns the verdict on the result, with a baseline that on what is new.
func (j *Judged) Verdict() checker.Verdict {
	if j.Before == nil {
		return j.Result.Verdict()
	}
	verdict := checker.Holds
	if j.Interrupted {
		verdict = checker.Unknown
	}
	for i := range j.Rows {
		for k := range j.Rows[i].Cells {
			c := &j.Rows[i].Cells[k]
			switch {
			case !j.Counts(j.Rows[i].ID, c):
			case c.Outcome == Broken:
				return checker.Violated
			case verdict == checker.Holds:
				verdict = checker.Invalid
			}
		}
	}
	return verdict
}

// NewlyInconclusive returns the ids of the situations with a cell that was decided in the baseline, and is not now.
func (j *Judged) NewlyInconclusive() []string {
	var ids []string
	for _, c := range j.Changes {
		if c.Now == Inconclusive && !slices.Contains(ids, c.Situation) {
			ids = append(ids, c.Situation)
		}
	}
	return ids
}
