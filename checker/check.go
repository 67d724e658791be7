package checker

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/internal/crew"
)

// Report is the result of run a history by every property that applies to it.
type Report struct {
	// Results has the results in the order of Properties. It has none for a
	// property that the run did not exercise (no extension, no guarded resource, no
	// fencing), or that the caller did not name.
	Results []Result
	// By has the properties that the caller named; empty: all.
	By []Property
	// DeadOnArrival counts the leases that were over before their acquire
	// returned. They hold nothing, so they violate nothing by themselves.
	DeadOnArrival int
	// Unseen says why the votes do not describe the lock, so that no property that rests on them has a
	// result; empty: they do.
	Unseen string
	// TooFew says that the clients asked fewer masters than a quorum has, so that it is not known how many the lock needs;
	// empty: they asked enough.
	TooFew string
	// Disagreement is not empty if the sweep and porcupine decided mutual
	// exclusion differently: a bug of Lockpick, and no verdict on the lock.
	Disagreement string
}

// WhyUntested explains why there is no result for a property of a history.
func (r *Report) WhyUntested(p Property, h *history.Packed) string {
	if len(r.By) > 0 && !slices.Contains(r.By, p) {
		return "not asked for"
	}
	return cmp.Or(p.ExemptsKind(h.Header.LockKind()), r.blind(p, &h.Header), p.WhyUntested(h))
}

// Err returns the disagreement of the sweep and porcupine as an error, or nil if they agree.
func (r *Report) Err() error {
	if r.Disagreement == "" {
		return nil
	}
	return errors.New("checker: " + r.Disagreement)
}

// Result returns the result for a property, or nil if the property was not judged.
func (r *Report) Result(p Property) *Result { return ResultOf(r.Results, p) }

// ResultOf returns the result for a property among some, or nil.
func ResultOf(results []Result, p Property) *Result {
	if i := slices.IndexFunc(results, func(r Result) bool { return r.Name == p.Name }); i >= 0 {
		return &results[i]
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
	return checkPacked(h, second, by...)
}

// second decides mutual exclusion a second time.
func second(h *history.Packed) linearizability { return linearizable(h, PorcupineLimit) }

func checkPacked(h *history.Packed, second func(*history.Packed) linearizability, by ...Property) Report {
	run := newRun(h)
	run.second = second
	rep := Report{By: by, DeadOnArrival: run.deadOnArrival(), Unseen: unseen(h)}
	if rep.Unseen != "" { // the lock is of another kind than the votes describe
		run.History, run.Unfiltered = h.WithoutVotes(), h
	} else if asked, most := run.askedMasters(); h.Header.Quorum == 0 && most > 0 && most < run.Quorum() {
		run.Asked, run.MostAsked = asked, most
		rep.TooFew = fmt.Sprintf("no lease asked more than %d of %d masters (%s), and the lock does not say whether it needs a majority (masters: \"n\") or one (masters: 1)", most, h.Header.Masters, strings.Join(asked, ", "))
	}
	var judged []Property
	for _, p := range Properties {
		if len(by) > 0 && !slices.Contains(by, p) {
			continue
		}
		if h.Header.Reported && !p.Reported {
			continue
		}
		if rep.blind(p, &h.Header) != "" || p.ExemptsKind(run.Lock.Kind) != "" || p.OnlyNamed && !slices.Contains(h.Header.Properties, p.Name) {
			continue
		}
		judged = append(judged, p)
	}
	for _, x := range run.judgeAll(judged, run.atOnce()) {
		if x.result.Name != "" {
			rep.Disagreement += x.contradiction
			rep.Results = append(rep.Results, x.result)
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
	if h.Header.Kind == history.Multi && slices.ContainsFunc(h.Kinds(), func(k history.VoteKind) bool { return k.Form != "" }) {
		return "a multi-lock may store another token on each of its keys"
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

// askedMasters returns the masters that clients asked for the leases of a history, and how many of them they asked for one lease, at most,
// if the votes are read from what masters did. A lock that reports its votes says by itself how many it needs.
func (r *run) askedMasters() (masters []string, most int) {
	if !slices.ContainsFunc(r.History.Kinds(), func(k history.VoteKind) bool { return k.Form != "" }) {
		return nil, 0
	}
	votes, all := r.VoteIndex(), map[string]bool{}
	for _, l := range r.Leases {
		mine, its := votes.ByToken(l.Token), map[string]bool{}
		for i := range mine.Len() {
			if k := mine.Kind(i); k.Form != "" {
				all[k.Master], its[k.Master] = true, true
			}
		}
		if most = max(most, len(its)); most >= r.Quorum() {
			break
		}
	}
	return slices.Sorted(maps.Keys(all)), most
}

// blind returns why a property is not judged of a lock that the votes do not describe, or whose quorum is not known; or "".
func (r *Report) blind(p Property, h *history.Header) string {
	switch {
	case r.Unseen != "" && p.Votes:
		return "what the masters store is not certain to be leases: " + r.Unseen
	case p.Counts && (r.TooFew != "" || r.Unseen != "" && h.Service == "" && h.Quorum <= 1): // a service needs a majority of its servers
		return "how many masters a lease needs is not certain: " + cmp.Or(r.TooFew, r.Unseen)
	}
	return ""
}

// parallelLines is the number of lines from which properties are judged in parallel. Searches judge many short
// histories, several at a time already.
const parallelLines = 20_000

// atOnce returns how many properties are judged at a time.
func (r *run) atOnce() int {
	if r.History.Lines() < parallelLines {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// judged is what a property says about a run.
type judged struct {
	result        Result // without a name, if the run had nothing to judge
	contradiction string
}

// judgeAll judges properties, so many at a time. None depends on the result of another, so the results are the same.
func (r *run) judgeAll(properties []Property, atOnce int) []judged {
	if atOnce > 1 {
		r.History.Len() // packs the votes, which only one goroutine may do
	}
	all := make([]judged, len(properties))
	numbers := make([]int, len(properties))
	for i := range numbers {
		numbers[i] = i
	}
	crew.Each(crew.Of(atOnce), slices.Values(numbers), func(i int) {
		if j := properties[i].rules.judge(r); j != nil {
			all[i] = judged{r.conclude(properties[i], j), j.contradiction}
		}
	})
	return all
}

func (r *run) deadOnArrival() int {
	n := 0
	for _, l := range r.Leases {
		if facts.ExpiredOnArrival(l) && !l.AtLeast && r.InWindow(l.Acquired()) {
			n++
		}
	}
	return n
}

// run is a history that is being judged.
type run struct {
	*facts.Run
	second func(*history.Packed) linearizability // decides mutual exclusion a second time
	died   death
}

func newRun(h *history.Packed) *run {
	return &run{Run: facts.New(h), died: foreignDeath(h.Ops)}
}
