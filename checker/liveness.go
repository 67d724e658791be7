package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// healing is the end of all faults. From then on a free lock must be granted within a
// bound; before it, DF and AV promise nothing.
type healing struct {
	at, bound time.Duration
	index     int
	gone      []string // masters that did not come back
	problem   string   // why nothing can be judged after it
}

// healed finds the last healing of a history.
func (r *run) healed() healing {
	for i := len(r.h.Ops) - 1; i >= 0; i-- {
		op := &r.h.Ops[i]
		if op.F != history.FHealed {
			continue
		}
		h := healing{at: op.Time, index: op.Index}
		if op.Value != nil {
			h.bound, h.gone = op.Value.Bound, op.Value.Masters
		}
		switch {
		case op.Error != "":
			h.problem = "the faults did not heal: " + op.Error
		case op.Type == history.Fail:
			h.problem = "the faults did not heal"
		case h.bound <= 0:
			h.problem = "the history names no bound within which a free lock must be granted"
		}
		return h
	}
	return healing{problem: "the run ended before its faults had healed, so nothing was acquired after them"}
}

// attempt is one acquire, from its call to its outcome.
type attempt struct {
	key, client string
	weight      int64 // how much of the lock's capacity it asks for
	invoked     time.Duration
	ended       time.Duration // if it never returned: when its client crashed or called acquire again, or the history ended
	ok, open    bool
	dropped     bool // its client crashed or called acquire again before it returned
	err         string
	ops         []int
}

// attempts returns the acquires of a history in the order of their calls.
func (r *run) attempts() []attempt { return r.acquires.get(r.findAttempts) }

func (r *run) findAttempts() []attempt {
	var all []attempt
	byCall := map[int]int{}    // position in all by the line of the call
	open := map[string][]int{} // by client: the positions of its acquires that have not returned
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F == history.FCrash || op.F == history.FAcquire && op.Type == history.Invoke {
			for _, at := range open[op.Process] { // these calls never returned
				if all[at].open {
					all[at].ended, all[at].dropped = op.Time, true
				}
			}
			delete(open, op.Process)
		}
		if op.F != history.FAcquire {
			continue
		}
		if op.Type == history.Invoke {
			byCall[op.Index] = len(all)
			open[op.Process] = append(open[op.Process], len(all))
			all = append(all, attempt{key: op.Key, client: op.Process, weight: r.law.weight(op.Asks()), invoked: op.Time, ended: r.end, open: true, ops: []int{op.Index}})
			continue
		}
		call, known := r.called(op.Index)
		if at, ok := byCall[call]; known && ok {
			a := &all[at]
			a.ended, a.open, a.dropped, a.ok, a.err = op.Time, false, false, op.Type == history.OK, op.Error
			a.ops = append(a.ops, op.Index)
			delete(byCall, call)
		}
	}
	return all
}

// keyAttempts holds the acquires of one key, in the order of their calls.
type keyAttempts struct {
	all  []int32 // positions in attempts
	when intervals
}

// attemptsWithin returns the acquires of a key that were pending between two times, in the order
// of their calls.
func (r *run) attemptsWithin(key string, from, to time.Duration) []attempt {
	all := r.attempts()
	k := r.attemptsOn.get(func() map[string]*keyAttempts {
		byKey := map[string]*keyAttempts{}
		for i, a := range all {
			k := byKey[a.key]
			if k == nil {
				k = &keyAttempts{}
				byKey[a.key] = k
			}
			k.all = append(k.all, int32(i))
			k.when.spans = append(k.when.spans, history.Span{From: a.invoked, To: a.ended})
		}
		for _, k := range byKey {
			k.when = intervalsOf(k.when.spans)
		}
		return byKey
	})[key]
	if k == nil {
		return nil
	}
	var found []attempt
	k.when.each(from, to, func(i int) bool {
		if a := all[k.all[i]]; a.invoked < to && a.ended > from {
			found = append(found, a)
		}
		return true
	})
	slices.Reverse(found)
	return found
}

// deadlockFree judges DF: each key of the history is granted within the bound
// after the faults have healed. Like availability, and unlike the properties of safety,
// it is about acquires that fail.
func (r *run) deadlockFree() *judgement {
	if !r.final() {
		return nil
	}
	h := r.healed()
	if h.problem != "" {
		return &judgement{invalid: h.problem}
	}
	type progress struct {
		granted  bool          // within the bound
		until    time.Duration // a client was granted it after the bound, or the history ends
		attempts []attempt
	}
	var keys []string
	byKey := map[string]*progress{}
	for _, a := range r.attempts() {
		p := byKey[a.key]
		if p == nil {
			p = &progress{until: min(r.end, r.interrupted.at)}
			byKey[a.key] = p
			keys = append(keys, a.key)
		}
		if !a.open && a.ops[1] < h.index || r.cancelled(a) {
			continue
		}
		p.attempts = append(p.attempts, a)
		switch {
		case a.ok && a.ended <= h.at+h.bound:
			p.granted = true
		case a.ok:
			p.until = min(p.until, a.ended)
		}
	}
	slices.Sort(keys)
	var found []Violation
	judged := 0
	untried, cut, queued := "", "", ""
	for _, k := range keys {
		p := byKey[k]
		switch {
		case p.granted:
			judged++
		case len(p.attempts) == 0:
			untried = k
		case min(r.end, r.interrupted.at) < h.at+h.bound:
			cut = k
		case min(r.end, r.interrupted.at) < h.at+h.bound+r.queueing(k, h.at, r.end):
			queued = k
		default:
			judged++
			v := Violation{Key: k, At: h.at, Until: h.at + h.bound, Ops: []int{h.index}}
			for _, a := range p.attempts {
				v.Ops = append(v.Ops, a.ops...)
				v.Clients = append(v.Clients, a.client)
			}
			slices.Sort(v.Ops)
			v.Clients = slices.Compact(slices.Sorted(slices.Values(v.Clients)))
			found = append(found, v)
		}
	}
	j := &judgement{
		tally: tally{checked: judged}, violations: found, late: true,
		evidence: countEvidence("keys that somebody asked for after all faults had ended", judged, len(keys), moreWork),
		explain:  func(v *Violation) { r.explainStuck(v, h, byKey[v.Key].until, byKey[v.Key].attempts) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s could not be acquired within %s of the end of all faults at %s: no one was granted %s for %s",
				share(t.found, t.checked, "keys"), at(h.bound), at(h.at), first.Key, at(byKey[first.Key].until-h.at))
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s granted again within %s of the end of all faults at %s", count(t.checked, "key was", "keys were"), at(h.bound), at(h.at))
		},
	}
	switch {
	case len(found) > 0 && r.stalled(h.at) > MaxStall:
		r.blameMachine(j, h.at)
	case len(keys) == 0:
		j.invalid = "no acquire was ever tried"
	case untried != "":
		j.invalid = fmt.Sprintf("no one tried to acquire %s after all faults had ended at %s", untried, at(h.at))
	case cut != "":
		j.invalid = fmt.Sprintf("the history ends %s after all faults had ended at %s, before the bound of %s had passed, and %s was not granted yet",
			at(r.end-h.at), at(h.at), at(h.bound), cut)
	case queued != "":
		j.invalid = fmt.Sprintf("the lock waits %s for each waiter that is gone, and the history ends %s after all faults had ended at %s, when it may still have waited for those of %s",
			at(r.h.Header.DeadWaiter), at(r.end-h.at), at(h.at), queued)
	}
	return j
}

// cancelled reports whether an acquire ended for a reason outside the lock: the user interrupted
// the harness before the acquire ended, or its client crashed.
func (r *run) cancelled(a attempt) bool { return a.dropped || !a.ok && a.ended >= r.interrupted.at }

// availability judges AV: each acquire that was called after the faults had
// healed was granted within the bound. These acquires wait for the lock, so an
// acquire that fails, is late or never returns is a violation.
func (r *run) availability() *judgement {
	if !r.final() {
		return nil
	}
	h := r.healed()
	if h.problem != "" {
		return &judgement{invalid: h.problem}
	}
	var found []Violation
	byCall := map[int]attempt{}
	clients := map[string]bool{}
	judged, cut := 0, 0
	var slowest time.Duration
	for _, a := range r.attempts() {
		if a.ops[0] < h.index {
			continue
		}
		took := a.ended - a.invoked
		switch {
		case a.ok && took <= h.bound:
			judged++
			clients[a.client] = true
			slowest = max(slowest, took)
			continue
		case a.open && took <= h.bound, r.cancelled(a), r.h.Header.DeadWaiter > 0 && took >= h.bound && took <= h.bound+r.queueing(a.key, a.invoked, a.ended):
			cut++ // the history ends before the bound
			continue
		}
		judged++
		clients[a.client] = true
		byCall[a.ops[0]] = a
		found = append(found, Violation{Key: a.key, At: a.invoked, Until: a.ended, Ops: a.ops, Clients: []string{a.client}})
	}
	j := &judgement{
		tally: tally{checked: judged, longest: slowest}, violations: found, late: true,
		evidence: countEvidence("clients that acquired after all faults had ended", len(clients), max(1, r.h.Header.Clients), moreWork),
		explain:  func(v *Violation) { r.explainRefused(v, byCall[v.Ops[0]]) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s were not granted within %s after all faults had ended at %s: the first was called at %s on %s and lasted %s",
				share(t.found, t.checked, "acquires"), at(h.bound), at(h.at), at(first.At), first.Key, at(first.Until-first.At))
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s granted after all faults had ended at %s, the slowest in %s of the %s allowed",
				count(t.checked, "acquire was", "acquires were"), at(h.at), at(t.longest), at(h.bound))
		},
	}
	switch {
	case len(found) > 0 && r.stalled(h.at) > MaxStall:
		r.blameMachine(j, h.at)
	case judged == 0 && cut > 0:
		j.invalid = fmt.Sprintf("the history ends before the %s after all faults had ended had to be granted", count(cut, "acquire", "acquires"))
	case judged == 0:
		j.invalid = fmt.Sprintf("no acquire followed the end of all faults at %s", at(h.at))
	}
	return j
}

// MaxStall is the fraction of the time after the healing for which the harness's machine
// may have stood still. If it stood still for longer, the machine may be why acquires failed.
const MaxStall = 0.05

// stalled returns the fraction of the time after from for which the machine stood still.
func (r *run) stalled(from time.Duration) float64 {
	return r.stalledFor(from, r.end)
}

// blameMachine withdraws the violations because the machine stalled too much, so that commands may
// have timed out because no process ran in time.
func (r *run) blameMachine(j *judgement, from time.Duration) {
	j.violations = nil
	j.invalid = fmt.Sprintf("the harness's machine stood still for %.0f %% of the time after all faults had ended at %s: too busy to tell", 100*r.stalled(from), at(from))
}
