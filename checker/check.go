package checker

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"lockpick/history"
)

// Report is what a history says of every property that applies to it.
type Report struct {
	// Results, in the order of Properties. A property that the run did not
	// exercise (no extension, no guarded resource, no fencing) has none.
	Results []Result
	// DeadOnArrival counts the leases that were over before their acquire
	// returned. They hold nothing, so they violate nothing by themselves.
	DeadOnArrival int
	// Disagreement is not empty if the sweep and porcupine decided mutual
	// exclusion differently: a bug of Lockpick, and no verdict on the lock.
	Disagreement string
}

// Err is the disagreement of the two deciders as an error, or nil.
func (r *Report) Err() error {
	if r.Disagreement == "" {
		return nil
	}
	return errors.New("checker: " + r.Disagreement)
}

// Result is the result for a property, or nil if it was not judged.
func (r *Report) Result(p Property) *Result {
	for i := range r.Results {
		if r.Results[i].Name == p.Name {
			return &r.Results[i]
		}
	}
	return nil
}

// PorcupineLimit is how long porcupine may take for one history.
const PorcupineLimit = 60 * time.Second

// Check judges a whole history. It never fails: what it cannot decide is
// Unknown, what the run does not prove is Invalid, and a contradiction between
// its own deciders is in Report.Disagreement.
func Check(h *history.History) Report {
	return check(h, func(ops []history.Op) linearizability { return linearizable(ops, PorcupineLimit) })
}

func check(h *history.History, second func([]history.Op) linearizability) Report {
	run := newRun(h)
	rep := Report{DeadOnArrival: run.deadOnArrival()}
	l2, disagreement := run.mutualExclusion(second(h.Ops))
	rep.Disagreement = disagreement
	waits := run.waits(nil)
	for _, r := range []*Result{
		run.keyLifetime(), run.ownKeys(), run.minValidity(), l2, run.deadArrivals(), run.beliefExclusion(), run.told(), run.noStaleWrite(), run.fencedWrites(), run.noLostUpdate(),
		run.fencingMonotone(), run.extension(), run.continuity(), run.deadlockFree(), run.holderLoss(waits),
		run.availability(), run.minorityFailure(waits), run.progress(), run.quorumGranted(), run.orphanKeys(), run.ghostKeys(),
	} {
		if r != nil {
			rep.Results = append(rep.Results, *r)
		}
	}
	return rep
}

// run is a history with the views of it that several properties need.
type run struct {
	h        *history.History
	leases   []*history.Lease
	faults   []*history.Fault
	pauses   map[string][]pause
	end      time.Duration               // of the last operation
	evidence *evidence                   // built when first needed
	trailed  *trails                     // built when first needed
	acquires []attempt                   // built when first needed
	byKey    map[string][]*history.Lease // built when first needed
}

func newRun(h *history.History) *run {
	r := &run{h: h, leases: history.Leases(h.Ops), faults: history.Faults(h.Ops), pauses: pauses(h.Ops)}
	if n := len(h.Ops); n > 0 {
		r.end = h.Ops[n-1].Time
	}
	return r
}

func (r *run) deadOnArrival() int {
	n := 0
	for _, l := range r.leases {
		if deadOnArrival(l) {
			n++
		}
	}
	return n
}

// deadOnArrival says whether a lease was over before its client knew of it. It
// is not the same as an empty hold: a client may release the moment it acquired.
func deadOnArrival(l *history.Lease) bool {
	return l.Grants[0].Until <= l.Grants[0].At
}

// result puts found violations, in order of time, into the result of a property.
// explain is called only for those that the result carries.
func result(p Property, checked int, found []Violation, explain func(*Violation)) *Result {
	res := &Result{Property: p, Verdict: Holds, Checked: checked, Count: len(found)}
	if len(found) == 0 {
		return res
	}
	slices.SortStableFunc(found, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	res.Verdict = Violated
	res.Violations = found[:min(len(found), MaxViolations)]
	for i := range res.Violations {
		v := &res.Violations[i]
		v.Property, v.Level = p.Name, p.Level
		explain(v)
	}
	res.Key = found[0].Key
	return res
}
