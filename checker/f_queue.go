package checker

import (
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// queueing returns how much longer than other locks a fair lock may keep all waiters waiting for a
// key between two times: it waits DeadWaiter for each earlier waiter that is gone.
func (r *run) queueing(key string, from, to time.Duration) time.Duration {
	dead := r.h.Header.DeadWaiter
	if dead == 0 {
		return 0
	}
	return time.Duration(r.goneWaiters(key, from, to)) * (dead + askingGap)
}

// goneWaiters returns how many acquires of a key may have left an unclaimed place in its queue
// between two times. The lock serves the first waiter, so once an acquire is granted, no waiter is
// left whose acquire was over before that acquire was called.
func (r *run) goneWaiters(key string, from, to time.Duration) int {
	var all []attempt
	for _, a := range r.attempts() {
		if a.key == key && a.invoked < to {
			all = append(all, a)
		}
	}
	var served time.Duration // all waiters that came before this time have left the queue
	for _, a := range all {
		if a.ok && a.ended <= from {
			served = max(served, a.invoked)
		}
	}
	n := 0
	for _, a := range all {
		if until, gone := r.leftBehind(a, to); gone && until >= served {
			n++
		}
	}
	return n
}

// leftBehind reports whether an acquire may have left an unclaimed place in the queue before a
// time, and the latest time at which it can have taken that place.
func (r *run) leftBehind(a attempt, to time.Duration) (until time.Duration, gone bool) {
	until = a.ended
	left := false
	for v := range r.lookup().between(a.invoked, a.ended+r.slack+r.h.LongestTook()) {
		if v.Client != a.client || v.Key != a.key || sent(v) < a.invoked || sent(v) > a.ended+r.slack {
			continue
		}
		if v.Unknown { // the master may execute it as long as it or the link is impaired
			gone = true
			for _, s := range r.trouble(a.client, v.Master) {
				if (s.From < v.At || s.From == sent(v)) && s.To > sent(v) { // a command may take no time, so its interval may be empty
					until = max(until, s.To)
				}
			}
		}
		left = left || v.Command == history.CommandLeave && !v.Unknown
	}
	for _, f := range r.faults { // a restarted master may have an older queue
		if f.Installed && fault.Of(f.Name).EndsMaster() && f.Began < to && f.To >= a.invoked && slices.ContainsFunc(f.Masters, r.uses) {
			gone, until = true, max(until, f.To)
		}
	}
	switch {
	case a.dropped, !a.open && a.ended <= to && !a.ok && !left:
		gone = true
	case a.open, a.ended > to: // it waits, but its client may be unable to respond when its turn comes
		gone = gone || slices.ContainsFunc(append(r.stops(a.client), r.reaches(a.client).weak...), func(s history.Span) bool { return s.From < s.To && s.From < to && s.To > a.invoked })
	}
	return until, gone
}
