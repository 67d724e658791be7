package facts

import (
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// QueueDelay returns how much longer than other locks a fair lock may keep all waiters waiting for a
// key between two times: it waits DeadWaiter for each earlier waiter that is gone.
func (r *Run) QueueDelay(key string, from, to time.Duration) time.Duration {
	dead := r.History.Header.DeadWaiter
	if dead == 0 {
		return 0
	}
	return time.Duration(r.goneWaiters(key, from, to)) * (dead + history.AskingGap)
}

// goneWaiters returns how many acquires of a key may have left an unclaimed place in its queue
// between two times. The lock serves the first waiter, so once an acquire is granted, no waiter is
// left whose acquire was over before that acquire was called.
func (r *Run) goneWaiters(key string, from, to time.Duration) int {
	var all []Acquire
	for _, a := range r.Acquires() {
		if a.Key == key && a.Invoked < to {
			all = append(all, a)
		}
	}
	var served time.Duration // all waiters that came before this time have left the queue
	for _, a := range all {
		if a.OK && a.Ended <= from {
			served = max(served, a.Invoked)
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
func (r *Run) leftBehind(a Acquire, to time.Duration) (until time.Duration, gone bool) {
	until = a.Ended
	left := false
	for v := range r.VoteIndex().Between(a.Invoked, a.Ended+r.Slack+r.History.LongestTook()) {
		if v.Client != a.Client || v.Key != a.Key || Sent(v) < a.Invoked || Sent(v) > a.Ended+r.Slack {
			continue
		}
		if v.Unknown { // the master may execute it as long as it or the link is impaired
			gone = true
			for _, s := range r.trouble(a.Client, v.Master) {
				if (s.From < v.At || s.From == Sent(v)) && s.To > Sent(v) { // a command may take no time, so its interval may be empty
					until = max(until, s.To)
				}
			}
		}
		left = left || v.Command == history.CommandLeave && !v.Unknown && v.Error == ""
	}
	for _, f := range r.Faults { // a restarted master may have an older queue
		if f.Installed && fault.Of(f.Name).EndsMaster() && f.Began < to && f.To >= a.Invoked && slices.ContainsFunc(f.Masters, r.uses) {
			gone, until = true, max(until, f.To)
		}
	}
	switch {
	case a.Dropped, !a.Open && a.Ended <= to && !a.OK && !left:
		gone = true
	case a.Open, a.Ended > to: // it waits, but its client may be unable to respond when its turn comes
		gone = gone || slices.ContainsFunc(append(r.PausesOf(a.Client), r.ReachOf(a.Client).weak...), func(s history.Span) bool { return s.From < s.To && s.From < to && s.To > a.Invoked })
	}
	return until, gone
}
