package checker

import "lockpick/history"

// Totals sums up the judgement of mutual exclusion in a history that is too long to be judged at
// once. Such a history is judged in parts; no hold overlaps a hold of another part.
type Totals struct {
	Holds      int
	Violations int
	Contended  int // contended acquisitions
	Undecided  string
}

// Add judges a part by mutual exclusion, adds the result to the totals and returns it. repeated is
// how many holds of the part are also in another part.
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

// CheckExcerpt judges mutual exclusion in an excerpt of a history that was judged in parts. The
// counts in its result are those of the whole history, the violations those of the excerpt.
func CheckExcerpt(excerpt *history.History, whole Totals) Report {
	run := newRun(history.Pack(excerpt))
	run.whole = &whole
	j := run.mutualExclusion(linearizable(run.h.Ops, PorcupineLimit))
	return Report{Results: []Result{run.conclude(MutualExclusion, j)}, DeadOnArrival: run.deadOnArrival(), Disagreement: j.contradiction}
}

// complete copies the counts of the whole history into the judgement on an excerpt.
func (t *Totals) complete(j *judgement) {
	j.checked = t.Holds
	j.found = max(t.Violations, len(j.violations))
	j.evidence[0].Got = t.Contended
	if t.Undecided != "" {
		j.undecided = t.Undecided
	}
}
