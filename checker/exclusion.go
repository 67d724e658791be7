package checker

import (
	"fmt"
	"slices"
	"strings"
)

// mutualExclusion judges L2: the holds of each key are pairwise disjoint. The
// sweep finds the violations; porcupine must agree, key by key, on which keys
// have any. If it does not, that is no verdict on the lock. If porcupine runs out
// of time, a violation stands only if it had confirmed one by then.
func (r *run) mutualExclusion(second linearizability) (res *Result, disagreement string) {
	all := holds(r.leases)
	overlaps := sweep(all)
	found := make([]Violation, 0, len(overlaps))
	byLater := map[int]overlap{}
	for _, o := range overlaps {
		found = append(found, violation(o))
		byLater[o.later.ops[0]] = o
	}
	judged := 0
	for i := range all {
		if !all[i].empty() {
			judged++
		}
	}
	res = result(MutualExclusion, judged, found, func(v *Violation) { r.explainHolds(v, byLater[v.Ops[len(v.Ops)-1]]) })
	dead := ""
	if n := r.deadOnArrival(); n > 0 {
		dead = fmt.Sprintf("; %s over before the acquire returned, and so held nothing", count(n, "lease was", "leases were"))
	}
	if len(found) > 0 {
		res.Why = fmt.Sprintf("%s began while another lease still held the lock: the first at %s on %s",
			share(len(found), judged, "holds"), at(res.Violations[0].At), res.Key) + dead
	} else {
		res.Why = fmt.Sprintf("no two of %s overlapped", count(judged, "hold", "holds")) + dead + r.tried()
		r.requireEvidence(res)
	}

	swept := map[string]bool{}
	for _, o := range overlaps {
		swept[o.later.key] = true
	}
	if disagreement = disagree(swept, second); disagreement != "" {
		res.Verdict, res.Why = Unknown, disagreement
	} else if second.undecided && len(second.illegal) == 0 && res.Verdict != Invalid {
		res.Verdict = Unknown
		res.Why = fmt.Sprintf("porcupine did not decide within %v; the sweep alone says: %s", second.limit, res.Why)
	}
	return res, disagreement
}

// disagree says how porcupine contradicts the sweep's set of violated keys, or
// "". A key that porcupine did not decide contradicts nothing.
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

// violation is an overlap as a proof: the operations that began the earlier
// stretch and say how long it lasts, then the one that began the later.
func violation(o overlap) Violation {
	return Violation{
		Key: o.later.key, At: o.from(), Until: o.to(),
		Ops:     append(slices.Clone(o.earlier.ops), o.later.ops[0]),
		Tokens:  []string{o.earlier.token, o.later.token},
		Clients: []string{o.earlier.client, o.later.client},
	}
}
