package checker

import "lockpick/history"

// Totals is what was judged of mutual exclusion in a history that is too long to be judged at
// once. It is judged in parts of which no hold overlaps one of another part.
type Totals struct {
	Holds      int
	Violations int
	Contended  int // acquisitions
	Undecided  string
}

// Add judges a part by mutual exclusion, and adds what it found. repeated is how many holds of
// the part are in another part as well.
func (t *Totals) Add(part *history.History, repeated int) Report {
	rep := Check(part, MutualExclusion)
	r := &rep.Results[0]
	t.Holds += r.Checked - repeated
	t.Violations += r.Count
	for _, e := range r.Evidence {
		t.Contended += e.Got
	}
	if r.Verdict == Unknown {
		t.Undecided = r.Why
	}
	return rep
}

// CheckExcerpt judges mutual exclusion in an excerpt of a history of which the whole was judged
// in parts. Its result counts what the whole has; it carries the violations that the excerpt has.
func CheckExcerpt(excerpt *history.History, whole Totals) Report {
	run := newRun(history.Pack(excerpt))
	run.whole = &whole
	j := run.mutualExclusion(linearizable(run.h.Ops, PorcupineLimit))
	return Report{Results: []Result{run.conclude(MutualExclusion, j)}, DeadOnArrival: run.deadOnArrival(), Disagreement: j.contradiction}
}

// complete puts what was judged of the whole history into the judgement on an excerpt.
func (t *Totals) complete(j *judgement) {
	j.checked = t.Holds
	j.found = max(t.Violations, len(j.violations))
	j.evidence[0].Got = t.Contended
	if t.Undecided != "" {
		j.undecided = t.Undecided
	}
}
