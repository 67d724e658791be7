package checker

import (
	"fmt"
	"slices"
	"strings"
)

// mutualExclusion judges L2: the holds of each key are pairwise disjoint. The
// sweep finds the violations; porcupine must agree, key by key, on which keys
// have any. If it does not, there is no verdict on the lock. If porcupine runs out
// of time, the violations that the sweep found stand, and the other keys are unknown.
func (r *run) mutualExclusion(second linearizability) *judgement {
	all := holds(r.leases, r.law)
	overlaps := sweep(all, r.law)
	found := make([]Violation, 0, len(overlaps))
	byLater := map[int]overlap{}
	swept := map[string]bool{}
	for _, o := range overlaps {
		if !r.counts(o.from()) {
			continue
		}
		found = append(found, violation(o))
		byLater[o.later.ops[0]] = o
		swept[o.later.key] = true
	}
	judged := 0
	for _, s := range r.law.inOrder(all) {
		if r.counts(s.from) {
			judged++
		}
	}
	j := &judgement{
		tally: tally{checked: judged}, violations: found,
		evidence: r.need(contendedAcquisitions, r.contendedGrants(nil), r.moreContention()),
		explain:  func(v *Violation) { r.explainHolds(v, byLater[v.Ops[len(v.Ops)-1]]) },
		violated: func(t tally, first *Violation) string {
			began := "began while another lease still held the lock"
			if !r.law.alone() {
				began = "began while others that had not ended left no room for it"
			}
			return fmt.Sprintf("%s %s: the first at %s on %s", share(t.found, t.checked, "holds"), began, at(first.At), first.Key)
		},
		holds:         func(t tally) string { return r.law.compatible(count(t.checked, "hold", "holds")) },
		contradiction: disagree(swept, second),
	}
	j.dead = r.deadOnArrival()
	j.notes = func(t tally) string {
		if t.dead == 0 {
			return ""
		}
		return fmt.Sprintf("; %s over before the acquire returned, and so held nothing", count(t.dead, "lease was", "leases were"))
	}
	if second.undecided {
		j.undecided = fmt.Sprintf("porcupine did not decide within %v; the sweep alone says: %s", second.limit, j.holds(j.tally))
	}
	return j
}

// disagree describes how porcupine contradicts the sweep's set of violated keys; it
// returns "" if it does not. A key that porcupine did not decide is no contradiction.
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

// violation returns an overlap as a Violation. Its Ops prove it: the operations that began
// the earlier stretches and say how long they last, then the operation that began the later.
func violation(o overlap) Violation {
	v := Violation{Key: o.later.key, At: o.from(), Until: o.to()}
	for _, s := range o.named {
		v.Ops, v.Tokens, v.Clients = append(v.Ops, s.ops...), append(v.Tokens, s.token), append(v.Clients, s.client)
	}
	v.Ops, v.Tokens, v.Clients = append(v.Ops, o.later.ops[0]), append(v.Tokens, o.later.token), append(v.Clients, o.later.client)
	return v
}
