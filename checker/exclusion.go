package checker

import (
	"fmt"
	"slices"
	"strings"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/internal/plural"
)

var MutualExclusion = Property{
	Name: "mutual-exclusion", Level: "L2", Says: "holds of different tokens on one key are disjoint",
	Leads: true, Leases: true, Exclusive: true, ToleratesStalls: true, Watched: true, Contended: true, Main: true, Reported: true,
	rules: &rules{judge: (*run).mutualExclusion},
}

// mutualExclusion judges L2: the holds of each key are pairwise disjoint. The
// sweep finds the violations; porcupine must agree, key by key, on which keys
// have any. If it does not, there is no verdict on the lock. If porcupine runs out
// of time, the violations that the sweep found stand, and the other keys are unknown.
func (r *run) mutualExclusion() *judgement {
	second := r.second(r.History)
	all := facts.HoldsOf(r.Leases, r.Lock)
	found := r.overlaps(sweep(all, r.Lock), r.explainHolds)
	swept := map[string]bool{}
	for _, p := range found {
		swept[p.Key] = true
	}
	judged := 0
	for _, s := range inOrder(r.Lock, all) {
		if r.InWindow(s.From) && !s.Continues {
			judged++
		}
	}
	j := &judgement{
		tally: tally{checked: judged}, violations: found,
		evidence:      r.need(contendedAcquisitions, r.ContendedGrants(nil), MoreContention),
		violated:      firstOf("holds", r.beganThough("began while another lease still held the lock")),
		holds:         func(t tally) string { return noOverlap(r.Lock, plural.Count(t.checked, "hold", "holds")) },
		contradiction: disagree(swept, second),
		note:          noteOn(r.deadOnArrival(), "%s over before the acquire returned, and so held nothing", "lease was", "leases were"),
	}
	if second.undecided {
		j.undecided = fmt.Sprintf("porcupine did not decide within %v; the sweep alone says: %s", second.limit, j.holds(j.tally))
	}
	return j
}

// disagree describes how porcupine contradicts the sweep's set of violated keys; it
// returns "" if it does not. A key that porcupine did not decide is not a contradiction.
func disagree(swept map[string]bool, second linearizability) string {
	var keys []string
	for k := range second.illegal {
		if !swept[k] {
			keys = append(keys, k+" (only porcupine finds a violation)")
		}
	}
	for k := range swept {
		if !second.illegal[k] && !second.undecided {
			keys = append(keys, k+" (only the sweep finds a violation)")
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	return "the sweep and porcupine disagree on " + strings.Join(keys, ", ") + ": this is a bug of Lockpick; please report it with the history"
}

// explainHolds explains that two leases were held at once.
func (r *run) explainHolds(n *narrative.Narrative, o overlap) {
	v := n.Violation
	on := v.Key
	if !r.Lock.Exclusive() {
		on = n.LeaseOn(o.later.Lease)
	}
	got := fmt.Sprintf("%s was granted %s", narrative.Again(o.later.Client, o.earlier.Client), on)
	if o.later.From > o.later.Lease.Acquired() {
		what := "an extension"
		if o.later.Upgraded {
			what = "an upgrade"
		}
		got = fmt.Sprintf("%s was granted %s of its lease on %s", o.later.Client, what, v.Key)
	}
	v.Summary = fmt.Sprintf("%s at %s while %s could still rely on it", got, narrative.At(v.At), o.earlier.Client)
	r.explainOverlap(n, o)
	if !r.Lock.Exclusive() {
		v.Summary = fmt.Sprintf("%s at %s while %s", got, narrative.At(v.At), o.heldBy())
		n.Violated(fmt.Sprintf("for %s, from %s to %s, %s at once", narrative.At(o.to()-o.from()), narrative.At(o.from()), narrative.At(o.to()), o.together()))
		return
	}
	n.Violated(fmt.Sprintf("for %s, from %s to %s, %s could both rely on %s",
		narrative.At(o.to()-o.from()), narrative.At(o.from()), narrative.At(o.to()), narrative.Both(o.earlier.Client, o.later.Client), v.Key))
}
