package facts

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// begin returns the earliest time at which the attempt that led to a lease can have begun: when the
// first SET with its token was sent within the acquire, or, if no vote on one was recorded, when
// acquire was called. line is the line of that call, and -1 if a SET was recorded.
func (r *Run) begin(l *history.Lease) (at time.Duration, line int) {
	first, voted := time.Duration(0), false
	for v := range r.VoteIndex().InFlight(l, l.Invoked, l.Acquired()) {
		if v.Command == history.CommandSet && Sent(v) >= l.Invoked && Sent(v) <= l.Acquired() && (!voted || Sent(v) < first) {
			first, voted = Sent(v), true
		}
	}
	if voted {
		return first, -1
	}
	return l.Invoked, l.InvokedIndex
}

// After reports whether a lease is certainly later than another: its attempt began after the
// other had been granted.
func (r *Run) After(later, earlier *history.Lease) bool {
	began, line := r.begin(later)
	if began == earlier.Acquired() && line >= 0 {
		return line > earlier.Grants[0].Index
	}
	return began > earlier.Acquired()
}

// beganBefore reports whether the attempt of one lease began before that of another.
func (r *Run) beganBefore(a, b *history.Lease) bool {
	began, line := r.begin(a)
	other, otherLine := r.begin(b)
	return began < other || began == other && line < otherLine
}

// LeasesByToken returns the leases of each token, in the order of their grants.
func (r *Run) LeasesByToken() map[KeyToken][]*history.Lease {
	found := make(map[KeyToken][]*history.Lease, len(r.Leases))
	for _, l := range r.Leases {
		name := KeyToken{l.Key, l.Token}
		found[name] = append(found[name], l)
	}
	return found
}

// KeyToken is a token on a key. More than one lease has it only if it was granted twice.
type KeyToken struct{ Key, Token string }

// keyClient is a client of a key.
type keyClient struct{ key, client string }

// LatestBefore returns the lease that was granted last before a line of the history, or nil.
func LatestBefore(leases []*history.Lease, index int) *history.Lease {
	var latest *history.Lease
	for _, l := range leases {
		if l.Grants[0].Index < index {
			latest = l
		}
	}
	return latest
}

// earliestBy returns the lease whose attempt began first, among the leases granted before a line of
// the history, or nil.
func (r *Run) earliestBy(leases []*history.Lease, index int) *history.Lease {
	var earliest *history.Lease
	for _, l := range leases {
		if l.Grants[0].Index < index && (earliest == nil || r.beganBefore(l, earliest)) {
			earliest = l
		}
	}
	return earliest
}

// LastLease returns the last lease granted on a key by a time, or nil.
func (r *Run) LastLease(key string, before time.Duration) *history.Lease {
	all := r.byKey.get(func() map[string][]*history.Lease {
		byKey := map[string][]*history.Lease{}
		for _, l := range r.Leases {
			byKey[l.Key] = append(byKey[l.Key], l)
		}
		return byKey
	})[key]
	i, _ := slices.BinarySearchFunc(all, before+1, acquiredBefore)
	if i == 0 {
		return nil
	}
	return all[i-1]
}

func acquiredBefore(l *history.Lease, at time.Duration) int { return cmp.Compare(l.Acquired(), at) }

// LeaseOf returns the lease that an acquire returned, or nil.
func (r *Run) LeaseOf(a Acquire) *history.Lease {
	if !a.OK || len(a.Ops) < 2 {
		return nil
	}
	i, found := slices.BinarySearchFunc(r.Leases, a.Ops[1], func(l *history.Lease, index int) int { return cmp.Compare(l.Grants[0].Index, index) })
	if !found {
		return nil
	}
	return r.Leases[i]
}
