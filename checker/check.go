package checker

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"

	"lockpick/history"
)

// Report is the result of judging a history by every property that applies to it.
type Report struct {
	// Results has the results in the order of Properties. It has none for a
	// property that the run did not exercise (no extension, no guarded resource, no
	// fencing), or that the caller did not name.
	Results []Result
	// DeadOnArrival counts the leases that were over before their acquire
	// returned. They hold nothing, so they violate nothing by themselves.
	DeadOnArrival int
	// Unseen says why the votes do not describe the lock, so that no property that rests on them has a
	// result; empty: they do.
	Unseen string
	// Disagreement is not empty if the sweep and porcupine decided mutual
	// exclusion differently: a bug of Lockpick, and no verdict on the lock.
	Disagreement string
}

// Err returns the disagreement of the sweep and porcupine as an error, or nil if they agree.
func (r *Report) Err() error {
	if r.Disagreement == "" {
		return nil
	}
	return errors.New("checker: " + r.Disagreement)
}

// Result returns the result for a property, or nil if the property was not judged.
func (r *Report) Result(p Property) *Result {
	for i := range r.Results {
		if r.Results[i].Name == p.Name {
			return &r.Results[i]
		}
	}
	return nil
}

// PorcupineLimit is the timeout of porcupine for one history.
const PorcupineLimit = 60 * time.Second

// Check judges a whole history by the given properties, or by all if none is given. It never
// fails: a property that it cannot decide is Unknown, one for which the run has too little
// evidence is Invalid, and a contradiction between the sweep and porcupine is in
// Report.Disagreement.
func Check(h *history.History, by ...Property) Report {
	return CheckPacked(history.Pack(h), by...)
}

// CheckPacked is Check for a packed history.
func CheckPacked(h *history.Packed, by ...Property) Report {
	return checkPacked(h, func(ops []history.Op) linearizability { return linearizable(&h.Header, ops, PorcupineLimit) }, by...)
}

func checkPacked(h *history.Packed, second func([]history.Op) linearizability, by ...Property) Report {
	run := newRun(h)
	unseen := unseen(h)
	if unseen != "" { // the lock is of another kind than the votes describe
		run.h, run.seen = h.WithoutVotes(), h
	}
	rep := Report{DeadOnArrival: run.deadOnArrival(), Unseen: unseen}
	for _, p := range Properties {
		if len(by) > 0 && !slices.Contains(by, p) {
			continue
		}
		if p.Votes && unseen != "" || Untested(p, run.law.kind) != "" {
			continue
		}
		var j *judgement
		if p == MutualExclusion {
			j = run.mutualExclusion(second(h.Ops))
			rep.Disagreement = j.contradiction
		} else {
			j = judges[p](run)
		}
		if j != nil {
			rep.Results = append(rep.Results, run.conclude(p, j))
		}
	}
	return rep
}

// unseen returns why the votes of a history do not describe its lock, or "".
func unseen(h *history.Packed) string {
	for i := range h.Ops {
		if h.Ops[i].F == history.FUnseen {
			return h.Ops[i].Error
		}
	}
	under := map[string]*history.VoteKind{} // by lock: a vote on it
	for i := range h.Kinds() {
		k := &h.Kinds()[i]
		if k.Form == "" || !k.Yes || k.Command != history.CommandSet {
			continue
		}
		if first := under[k.Key]; first == nil {
			under[k.Key] = k
		} else if first.Stored != k.Stored {
			return fmt.Sprintf("%s acquired %s by %s on %s, and %s by %s on %s: which of these keys is the lease is not known", first.Client, k.Key, first.Form, first.Stored, k.Client, k.Form, k.Stored)
		}
	}
	return ""
}

// run is a history with the derived data that several properties need.
type run struct {
	h           *history.Packed
	law         law             // which holds and sections may overlap
	seen        *history.Packed // with the votes that h leaves out, because they do not describe the lock; nil: h has all
	leases      []*history.Lease
	leaseOf     []int32 // by position in h.Ops: the index in leases of the lease that the line is about, or -1
	faults      []*history.Fault
	pauses      map[string][]pause
	end         time.Duration // time of the last operation
	ended       bool          // the history has its end mark
	interrupted interruption
	died        death
	window      history.Span  // only events in it are judged; the rest is context
	slack       time.Duration // how late an event may have been recorded

	// What the methods with these names compute.
	faulty        lazy[[]history.Span]
	competed      lazy[map[*history.Lease]bool]
	evidence      lazy[*evidence]
	logs          lazy[*commandLogs]
	calls         lazy[*history.Calls]
	acquires      lazy[[]attempt]
	byKey         lazy[map[string][]*history.Lease]
	starving      lazy[[]starvation]
	used          lazy[[]string]
	asks          lazyBy[requester, []*asked]
	answered      lazyBy[string, map[string]votes]
	names         lazy[[]string]
	stood         lazy[intervals]
	selfExtending lazyBy[*history.Lease, bool]
	extends       lazy[map[leaseName][]history.Span]
	faulted       lazy[intervals]
	effective     lazyBy[*history.Fault, bool]
	reached       lazyBy[string, reach]
	byMaster      lazyBy[string, *masterFaults]
	stopped       lazyBy[string, intervals]
	troubles      lazyBy[link, intervals]
	attemptsOn    lazy[map[string]*keyAttempts]
	effects       lazy[map[*history.Lease][]storedWrite]
	lines         lazy[map[string][]int32]
}

func newRun(h *history.Packed) *run {
	r := &run{h: h, law: lawOf(&h.Header), faults: history.Faults(h.Ops), pauses: pauses(h.Ops),
		window: history.Span{From: -1 << 62, To: 1 << 62}, interrupted: interrupted(h.Ops), died: foreignDeath(h.Ops), slack: slackOf(h)}
	r.leases, r.leaseOf = history.LeasesByLine(h.Ops)
	if n := len(h.Ops); n > 0 {
		r.end = h.Ops[n-1].Time
		r.ended = h.Ops[n-1].F == history.FEnd
	}
	return r
}

// counts reports whether the time t is in the judged window.
func (r *run) counts(t time.Duration) bool { return r.window.From <= t && t < r.window.To }

// final reports whether the judged window reaches to the end of the history.
func (r *run) final() bool { return r.end < r.window.To }

// leaseAt returns the lease that the line at a position of h.Ops is about, or nil.
func (r *run) leaseAt(position int) *history.Lease {
	if n := r.leaseOf[position]; n >= 0 {
		return r.leases[n]
	}
	return nil
}

func (r *run) deadOnArrival() int {
	n := 0
	for _, l := range r.leases {
		if deadOnArrival(l) && r.counts(l.Acquired()) {
			n++
		}
	}
	return n
}

// deadOnArrival reports whether a lease was over when its acquire returned. This
// is not the same as an empty hold: a client may release a lease the moment it acquires it.
func deadOnArrival(l *history.Lease) bool {
	return l.Grants[0].Until <= l.Grants[0].At
}

// linesOf returns the positions in h.Ops of a process's lines.
func (r *run) linesOf(process string) []int32 {
	return r.lines.get(func() map[string][]int32 {
		lines := map[string][]int32{}
		for i := range r.h.Ops {
			p := r.h.Ops[i].Process
			lines[p] = append(lines[p], int32(i))
		}
		return lines
	})[process]
}

// following yields the operations of a process after a line.
func (r *run) following(process string, index int) iter.Seq[*history.Op] {
	return func(yield func(*history.Op) bool) {
		lines := r.linesOf(process)
		first := sort.Search(len(lines), func(i int) bool { return r.h.Ops[lines[i]].Index > index })
		for _, i := range lines[first:] {
			if !yield(&r.h.Ops[i]) {
				return
			}
		}
	}
}
