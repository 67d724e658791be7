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
	// exercise (no extension, no guarded resource, no fencing) has none, nor has one
	// that was not asked for.
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

// Check judges a whole history by some properties; by all, if none is named. It never
// fails: what it cannot decide is Unknown, what the run does not prove is Invalid, and a
// contradiction between its own deciders is in Report.Disagreement.
func Check(h *history.History, by ...Property) Report {
	return check(h, func(ops []history.Op) linearizability { return linearizable(ops, PorcupineLimit) }, by...)
}

func check(h *history.History, second func([]history.Op) linearizability, by ...Property) Report {
	run := newRun(h)
	rep := Report{DeadOnArrival: run.deadOnArrival()}
	for _, p := range Properties {
		if len(by) > 0 && !slices.Contains(by, p) {
			continue
		}
		var r *Result
		if p == MutualExclusion {
			r, rep.Disagreement = run.mutualExclusion(second(h.Ops))
		} else {
			r = judges[p](run)
		}
		if r != nil {
			rep.Results = append(rep.Results, *r)
		}
	}
	return rep
}

// judges are what decides each property; nil: the run did not exercise it. Mutual
// exclusion has two.
var judges = map[Property]func(*run) *Result{
	KeyLifetime: (*run).keyLifetime, OwnKeys: (*run).ownKeys, MinValidity: (*run).minValidity,
	DeadOnArrival:   (*run).deadArrivals,
	BeliefExclusion: (*run).beliefExclusion, Told: (*run).told,
	NoStaleWrite: (*run).noStaleWrite, FencedWrites: (*run).fencedWrites, NoLostUpdate: (*run).noLostUpdate, FencingMonotone: (*run).fencingMonotone,
	Extension: (*run).extension, Continuity: (*run).continuity,
	DeadlockFree: (*run).deadlockFree, HolderLoss: (*run).holderLoss,
	Availability: (*run).availability, MinorityFailure: (*run).minorityFailure, Progress: (*run).progress, QuorumGranted: (*run).quorumGranted,
	OrphanKeys: (*run).orphanKeys, GhostKeys: (*run).ghostKeys,
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
	dry      []drought                   // built when first needed
	dried    bool                        // dry is
	asks     map[string][]*asked         // requests by key, built when first needed
	freed    map[string][]history.Vote   // votes on releases by master, built when first needed
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
