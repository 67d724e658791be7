package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
)

var DeadlockFree = Property{
	Name: "deadlock-freedom", Level: "DF",
	Says:  "once faults have healed, every key can be acquired again",
	Leads: true,
	rules: &rules{
		judge: (*judging).deadlockFree,
		gaps:  []gap{notHealed},
	},
}

// deadlockFree judges DF: each key of the history is granted within the bound
// after the faults have healed. Like availability, and unlike the properties of safety,
// it is about acquires that fail.
func (r *judging) deadlockFree() *judgement {
	if !r.ReachesEnd() {
		return nil
	}
	h := r.Healed()
	if h.Problem != "" {
		return &judgement{invalid: h.Problem}
	}
	type progress struct {
		granted  bool          // within the bound
		until    time.Duration // a client was granted it after the bound, or the history ends
		attempts []facts.Acquire
	}
	var keys []string
	byKey := map[string]*progress{}
	for _, a := range r.Acquires() {
		p := byKey[a.Key]
		if p == nil {
			p = &progress{until: min(r.End, r.Interrupted.At)}
			byKey[a.Key] = p
			keys = append(keys, a.Key)
		}
		if !a.Open && a.Ops[1] < h.Line || r.Cancelled(a) {
			continue
		}
		p.attempts = append(p.attempts, a)
		switch {
		case a.OK && a.Ended <= h.At+h.Bound:
			p.granted = true
		case a.OK:
			p.until = min(p.until, a.Ended)
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
		case min(r.End, r.Interrupted.At) < h.At+h.Bound:
			cut = k
		case min(r.End, r.Interrupted.At) < h.At+h.Bound+r.QueueDelay(k, h.At, r.End):
			queued = k
		default:
			judged++
			v := Violation{Key: k, At: h.At, Until: h.At + h.Bound, Ops: []int{h.Line}}
			for _, a := range p.attempts {
				v.Ops = append(v.Ops, a.Ops...)
				v.Clients = append(v.Clients, a.Client)
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
				share(t.found, t.checked, "keys"), at(h.Bound), at(h.At), first.Key, at(byKey[first.Key].until-h.At))
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s granted again within %s of the end of all faults at %s", count(t.checked, "key was", "keys were"), at(h.Bound), at(h.At))
		},
	}
	switch {
	case len(found) > 0 && r.StalledSince(h.At) > MaxStall:
		r.blameMachine(j, h.At)
	case len(keys) == 0:
		j.invalid = "no acquire was ever tried"
	case untried != "":
		j.invalid = fmt.Sprintf("no one tried to acquire %s after all faults had ended at %s", untried, at(h.At))
	case cut != "":
		j.invalid = fmt.Sprintf("the history ends %s after all faults had ended at %s, before the bound of %s had passed, and %s was not granted yet",
			at(r.End-h.At), at(h.At), at(h.Bound), cut)
	case queued != "":
		j.invalid = fmt.Sprintf("the lock waits %s for each waiter that is gone, and the history ends %s after all faults had ended at %s, when it may still have waited for those of %s",
			at(r.History.Header.DeadWaiter), at(r.End-h.At), at(h.At), queued)
	}
	return j
}

// explainStuck explains that nobody was granted a key from when the faults had healed until a time.
func (r *judging) explainStuck(n *narrative, h facts.Healing, granted time.Duration, attempts []facts.Acquire) {
	v := n.v
	v.Summary = fmt.Sprintf("no one was granted %s for %s after all faults had ended at %s", v.Key, at(granted-h.At), at(h.At))
	until := v.Until
	for _, a := range attempts {
		until = max(until, a.Ended)
	}
	n.stuck(v.Clients, h.At, until, attempts)
	n.allHealed(h)
	n.violated(fmt.Sprintf("%s, where %s is allowed", v.Summary, at(h.Bound)))
}
