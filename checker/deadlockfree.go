package checker

import (
	"fmt"
	"slices"
	"time"
)

var DeadlockFree = Property{
	Name: "deadlock-freedom", Level: "DF",
	Says:  "once faults have healed, every key can be acquired again",
	Leads: true,
	rules: &rules{
		judge: (*run).deadlockFree,
		gaps:  []gap{notHealed},
	},
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
		explain:  func(n *narrative) { r.explainStuck(n, h, byKey[n.v.Key].until, byKey[n.v.Key].attempts) },
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

// explainStuck explains that nobody was granted a key from when the faults had healed until a time.
func (r *run) explainStuck(n *narrative, h healing, granted time.Duration, attempts []attempt) {
	v := n.v
	v.Summary = fmt.Sprintf("no one was granted %s for %s after all faults had ended at %s", v.Key, at(granted-h.at), at(h.at))
	until := v.Until
	for _, a := range attempts {
		until = max(until, a.ended)
	}
	n.stuck(v.Clients, h.at, until, attempts)
	n.allHealed(h)
	n.violated(fmt.Sprintf("%s, where %s is allowed", v.Summary, at(h.bound)))
}
