package checker

import (
	"slices"

	"lockpick/checker/facts"
	"lockpick/history"
)

// Totals sums up the judgement of mutual exclusion and belief exclusion in a history that is too long to be judged at
// once. Such a history is judged in parts; no hold overlaps a hold of another part.
type Totals struct{ of map[string]*total }

// total sums up the judgement of one property.
type total struct {
	checked    int // holds or critical sections
	violations int
	contended  int // contended acquisitions
	undecided  string
}

// Add judges a part, adds the results to the totals and returns them. At most two holds of the part, which begin
// before all others, may be in an earlier part, too: repeated is how many, and isRepeated tells whether an operation
// is of one of them.
func (t *Totals) Add(part *history.History, repeated int, isRepeated func(op int) bool) Report {
	if t.of == nil {
		t.of = map[string]*total{}
	}
	rep := Check(part, Exclusive()...)
	for i := range rep.Results {
		r := &rep.Results[i]
		sum := t.of[r.Name]
		if sum == nil {
			sum = &total{}
			t.of[r.Name] = sum
		}
		sum.checked += r.Checked - repeated
		sum.violations += r.Count
		for i := range r.Violations { // other holds may begin at the same time as the repeated ones
			if r.Violations[i].At == r.Violations[0].At && !slices.ContainsFunc(r.Violations[i].Ops, func(op int) bool { return !isRepeated(op) }) {
				sum.violations-- // the earlier part had both
			}
		}
		for _, e := range r.Evidence {
			sum.contended += e.Got
		}
		if r.Verdict == Unknown {
			sum.undecided = r.Why
		}
	}
	return rep
}

// Merge adds the totals of later parts.
func (t *Totals) Merge(later Totals) {
	if t.of == nil {
		t.of = map[string]*total{}
	}
	for name, x := range later.of {
		sum := t.of[name]
		if sum == nil {
			sum = &total{}
			t.of[name] = sum
		}
		sum.checked += x.checked
		sum.violations += x.violations
		sum.contended += x.contended
		if x.undecided != "" {
			sum.undecided = x.undecided
		}
	}
}

// CheckExcerpt judges an excerpt of a history that was judged in parts. The counts in its results are those of the
// whole history, the violations those of the excerpt.
func CheckExcerpt(excerpt *history.History, whole Totals) Report {
	run := newRun(history.Pack(excerpt))
	run.second = second
	j := run.mutualExclusion()
	report := Report{DeadOnArrival: run.deadOnArrival(), Disagreement: j.contradiction}
	for i, j := range []*judgement{j, run.beliefsIn(facts.SectionsOf(run.History, run.LeaseAt))} {
		p := Exclusive()[i]
		if sum := whole.of[p.Name]; sum != nil {
			sum.complete(j)
		} else if !p.Leases {
			continue // there is no section
		}
		report.Results = append(report.Results, run.conclude(p, j))
	}
	return report
}

// complete copies the counts of the whole history into the judgement on an excerpt.
func (t *total) complete(j *judgement) {
	j.checked = t.checked
	j.found = max(t.violations, len(j.violations))
	j.evidence[0].Got = t.contended
	if t.undecided != "" {
		j.undecided = t.undecided
	}
}
