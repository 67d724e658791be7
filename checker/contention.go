package checker

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// contended returns the leases for which another client competed: its acquire of the same
// key was pending at some time between the grant and a TTL after it. A lease that was over
// on arrival held nothing, so nobody competed with it.
//
// For each key the acquires are in the order of their calls. Among the acquires called up to a
// time, only the two of different clients that were pending longest matter: at least one of them is
// not by the lease's own client.
func (r *run) contended() map[*history.Lease]bool {
	if r.competed != nil {
		return r.competed
	}
	r.competed = map[*history.Lease]bool{}
	type pending struct {
		client string
		until  time.Duration
	}
	type prefix struct {
		called      time.Duration
		first, next pending // of different clients; next is the zero value while there is one client
	}
	byKey := map[string][]prefix{}
	for _, a := range r.attempts() {
		all := byKey[a.key]
		p := prefix{called: a.invoked}
		if n := len(all); n > 0 {
			p.first, p.next = all[n-1].first, all[n-1].next
		}
		mine := pending{a.client, a.ended}
		switch {
		case p.first.client == "" || p.first.client == mine.client:
			mine.until = max(mine.until, p.first.until)
			p.first = mine
		case p.next.client == "" || p.next.client == mine.client || mine.until > p.next.until:
			if p.next.client == mine.client {
				mine.until = max(mine.until, p.next.until)
			}
			p.next = mine
		}
		if p.next.until > p.first.until {
			p.first, p.next = p.next, p.first
		}
		byKey[a.key] = append(all, p)
	}
	for _, l := range r.leases {
		if deadOnArrival(l) {
			continue
		}
		all := byKey[l.Key]
		i, _ := slices.BinarySearchFunc(all, l.Acquired()+r.h.Header.TTL+1, func(p prefix, t time.Duration) int { return cmp.Compare(p.called, t) })
		if i == 0 {
			continue
		}
		p := all[i-1]
		other := p.first
		if other.client == l.Process {
			other = p.next
		}
		if other.client != "" && other.until >= l.Acquired() {
			r.competed[l] = true
		}
	}
	return r.competed
}

// contendedGrants returns the grant times of the contended leases for which counts, if not nil, is
// true.
func (r *run) contendedGrants(counts func(*history.Lease) bool) []time.Duration {
	competed := r.contended()
	var at []time.Duration
	for _, l := range r.leases {
		if competed[l] && r.counts(l.Acquired()) && (counts == nil || counts(l)) {
			at = append(at, l.Acquired())
		}
	}
	return at
}

// contendedAcquisitions names the evidence that the verdicts on exclusion need.
const contendedAcquisitions = "contended acquisitions"

// begin returns the earliest time at which the attempt that led to a lease can have begun: when the
// first SET with its token was sent within the acquire, or, if no vote on one was recorded, when
// acquire was called. line is the line of that call, and -1 if a SET was recorded.
func (r *run) begin(l *history.Lease) (at time.Duration, line int) {
	first, voted := time.Duration(0), false
	for v := range r.lookup().asked(l, l.Invoked, l.Acquired()) {
		if v.Command == history.CommandSet && sent(v) >= l.Invoked && sent(v) <= l.Acquired() && (!voted || sent(v) < first) {
			first, voted = sent(v), true
		}
	}
	if voted {
		return first, -1
	}
	return l.Invoked, l.InvokedIndex
}

// after reports whether a lease is certainly later than another: its attempt began after the
// other had been granted.
func (r *run) after(later, earlier *history.Lease) bool {
	began, line := r.begin(later)
	if began == earlier.Acquired() && line >= 0 {
		return line > earlier.Grants[0].Index
	}
	return began > earlier.Acquired()
}
