package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// fencePair is two leases in the order in which they were granted, whose fencing
// tokens do not grow.
type fencePair struct {
	earlier, later *history.Lease
}

// fencingMonotone judges FM: a later lease has a higher fencing token. Leases
// whose order the history does not prove are not compared. It is proven if
//
//   - the last hold of the one had ended when the other was granted, or
//   - one of them never held anything (it was over on arrival), and the one's
//     acquire had returned before the other's began.
//
// Leases whose holds overlap have no order; that is for L2 to report.
func (r *run) fencingMonotone() *Result {
	if !r.h.Header.Fencing {
		return nil
	}
	pairs, judged, without := decreasing(r.leases)
	found := make([]Violation, 0, len(pairs))
	byGrant := map[int]fencePair{}
	for _, p := range pairs {
		byGrant[p.later.Grants[0].Index] = p
		found = append(found, Violation{
			Key: p.later.Key, At: p.later.Acquired(), Until: p.later.Acquired(),
			Ops:     []int{p.earlier.Grants[0].Index, p.later.Grants[0].Index},
			Tokens:  []string{p.earlier.Token, p.later.Token},
			Clients: []string{p.earlier.Process, p.later.Process},
		})
	}
	res := result(FencingMonotone, judged, found, func(v *Violation) { r.explainFence(v, byGrant[v.Ops[1]]) })
	left := ""
	if without > 0 {
		left = fmt.Sprintf("; %s no fencing token", count(without, "lease had", "leases had"))
	}
	if len(found) > 0 {
		res.Why = fmt.Sprintf("%s had a fencing token no higher than that of an earlier one: the first at %s on %s",
			share(len(found), judged, "leases"), at(res.Violations[0].At), res.Key) + left
		return res
	}
	res.Why = fmt.Sprintf("the fencing tokens of %s grew in the order in which they were granted", count(judged, "lease", "leases")) + left + r.tried()
	r.requireEvidence(res)
	return res
}

// decreasing compares each lease with the highest fencing token of all those
// that are proven to come before it, and returns the pairs that violate FM, the
// number of leases judged and of those without a token. O(n log n).
func decreasing(leases []*history.Lease) (pairs []fencePair, judged, without int) {
	byKey := map[string][]*history.Lease{}
	var keys []string
	for _, l := range leases {
		if l.Fence == 0 {
			without++
			continue
		}
		if byKey[l.Key] == nil {
			keys = append(keys, l.Key)
		}
		byKey[l.Key] = append(byKey[l.Key], l)
		judged++
	}
	for _, key := range keys {
		var held, dead, all highest
		for _, l := range byKey[key] {
			if end, ok := lastHeld(l); ok {
				held.add(end, l)
			} else {
				dead.add(l.Acquired(), l)
			}
			all.add(l.Acquired(), l)
		}
		held.sort()
		dead.sort()
		all.sort()
		for _, l := range byKey[key] {
			var before *history.Lease
			if _, ok := lastHeld(l); ok {
				before = higher(held.upTo(l.Acquired()), dead.upTo(l.Invoked-1))
			} else {
				before = all.upTo(l.Invoked - 1)
			}
			if before != nil && before.Fence >= l.Fence {
				pairs = append(pairs, fencePair{before, l})
			}
		}
	}
	return pairs, judged, without
}

// lastHeld is when a lease's last hold ended; false if it never held anything.
func lastHeld(l *history.Lease) (end time.Duration, ok bool) {
	for _, s := range l.Holds() {
		if !s.Empty() {
			end, ok = s.To, true
		}
	}
	return end, ok
}

// highest answers which lease has the highest fencing token of those up to a time.
type highest struct {
	at []time.Duration
	l  []*history.Lease
}

func (h *highest) add(at time.Duration, l *history.Lease) {
	h.at, h.l = append(h.at, at), append(h.l, l)
}

// sort orders the leases by their times and lets each entry carry the highest so far.
func (h *highest) sort() {
	order := make([]int, len(h.at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(h.at[a], h.at[b]) })
	at, l := make([]time.Duration, len(order)), make([]*history.Lease, len(order))
	for i, o := range order {
		at[i], l[i] = h.at[o], h.l[o]
		if i > 0 {
			l[i] = higher(l[i-1], l[i])
		}
	}
	h.at, h.l = at, l
}

// upTo is the one with the highest token of those at or before a time, or nil.
func (h *highest) upTo(at time.Duration) *history.Lease {
	n, _ := slices.BinarySearch(h.at, at+1)
	if n == 0 {
		return nil
	}
	return h.l[n-1]
}

func higher(a, b *history.Lease) *history.Lease {
	if a == nil || b != nil && b.Fence > a.Fence {
		return b
	}
	return a
}
