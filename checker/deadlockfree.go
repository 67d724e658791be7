package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/internal/plural"
)

var DeadlockFree = Property{
	Name: "deadlock-freedom", Level: "DF", Says: "once faults have healed, every key can be acquired again", Leads: true,
	rules: &rules{judge: afterHealing((*run).deadlockFree), gaps: []gap{notHealed}},
}

// deadlockFree judges DF: each key of the history is granted within the bound
// after the faults have healed, if a client asks for it until the bound is over. Like availability,
// and unlike the properties of safety, it is about acquires that fail.
func (r *run) deadlockFree(h facts.Healing) *judgement {
	type progress struct {
		granted  bool          // within the bound
		asked    bool          // a client asked when the bound was over
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
		p.asked = p.asked || a.Invoked <= h.At+h.Bound && a.Ended+h.Gap() >= h.At+h.Bound
		switch {
		case a.OK && a.Ended <= h.At+h.Bound:
			p.granted = true
		case a.OK:
			p.until = min(p.until, a.Ended)
		}
	}
	slices.Sort(keys)
	var found []proven
	judged := 0
	untried, cut, queued, unasked := "", "", "", ""
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
		case !p.asked:
			unasked = k
		default:
			judged++
			v := narrative.Violation{Key: k, At: h.At, Until: h.At + h.Bound, Ops: []int{h.Line}}
			for _, a := range p.attempts {
				v.Ops = append(v.Ops, a.Ops...)
				v.Clients = append(v.Clients, a.Client)
			}
			slices.Sort(v.Ops)
			v.Clients = slices.Compact(slices.Sorted(slices.Values(v.Clients)))
			found = append(found, proven{v, func(n *narrative.Narrative) { r.explainStuck(n, h, p.until, p.attempts) }})
		}
	}
	j := &judgement{
		tally: tally{checked: judged}, violations: found, late: true,
		evidence: r.count("keys that somebody asked for after all faults had ended", judged, len(keys), MoreWork),
		violated: func(t tally, first *narrative.Violation) string {
			return fmt.Sprintf("%s could not be acquired within %s of the end of all faults at %s: no one was granted %s for %s",
				narrative.Share(t.found, t.checked, "keys"), narrative.At(h.Bound), narrative.At(h.At), first.Key, narrative.At(byKey[first.Key].until-h.At))
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s granted again within %s of the end of all faults at %s", plural.Count(t.checked, "key was", "keys were"), narrative.At(h.Bound), narrative.At(h.At))
		},
	}
	switch {
	case len(keys) == 0:
		j.invalid = "no acquire was ever tried"
	case untried != "":
		j.invalid = fmt.Sprintf("no one tried to acquire %s after all faults had ended at %s", untried, narrative.At(h.At))
	case cut != "":
		j.invalid = fmt.Sprintf("the history ends %s after all faults had ended at %s, before the bound of %s had passed, and %s was not granted yet",
			narrative.At(r.End-h.At), narrative.At(h.At), narrative.At(h.Bound), cut)
	case unasked != "":
		j.invalid = fmt.Sprintf("no one was granted %s, but no one asked for it until the bound of %s after the end of all faults at %s had passed", unasked, narrative.At(h.Bound), narrative.At(h.At))
	case queued != "":
		j.invalid = fmt.Sprintf("the lock waits %s for each waiter that is gone, and the history ends %s after all faults had ended at %s, when it may still have waited for those of %s",
			narrative.At(r.History.Header.DeadWaiter), narrative.At(r.End-h.At), narrative.At(h.At), queued)
	}
	return j
}

// explainStuck explains that nobody was granted a key from when the faults had healed until a time.
func (r *run) explainStuck(n *narrative.Narrative, h facts.Healing, granted time.Duration, attempts []facts.Acquire) {
	v := n.Violation
	v.Summary = fmt.Sprintf("no one was granted %s for %s after all faults had ended at %s", v.Key, narrative.At(granted-h.At), narrative.At(h.At))
	until := v.Until
	for _, a := range attempts {
		until = max(until, a.Ended)
	}
	n.Stuck(v.Clients, h.At, until, attempts)
	n.AllHealed(h)
	n.Violated(fmt.Sprintf("%s, where %s is allowed", v.Summary, narrative.At(h.Bound)))
}
