package checker_test

import (
	"slices"
	"time"

	"lockpick/history"
)

// queueing returns how much longer a lock that serves its waiters in order may keep all of them
// waiting between two times: 250 ms and the lock's DeadWaiter for each waiter that is gone.
func (o *oracle) queueing(key string, from, to time.Duration) time.Duration {
	gone := 0
	for _, a := range o.askings() {
		if a.key != key || a.from >= to {
			continue
		}
		until, left := o.leftBehind(a, to)
		served := false
		for _, b := range o.askings() {
			served = served || b.key == key && b.ok && b.to <= from && b.from > until
		}
		if left && !served {
			gone++
		}
	}
	return time.Duration(gone) * (o.h.DeadWaiter + 250*time.Millisecond)
}

// leftBehind says whether an acquire may have left a place in the queue that no client claims, and
// until when it may have taken that place: an unanswered command may take it for as long as the
// master or the link is impaired.
func (o *oracle) leftBehind(a asking, to time.Duration) (until time.Duration, left bool) {
	until = a.to
	told := false
	for _, v := range o.votes {
		if v.client != a.client || v.key != a.key || v.sent < a.from || v.sent > a.to+o.slack {
			continue
		}
		if !v.unknown {
			told = told || v.command == history.CommandLeave
			continue
		}
		left = true
		for t := v.sent; t == v.sent || t < v.at; t += o.tick { // impairments begin and end at ticks
			for end := t; o.troubled(a.client, v.master, end) && end <= o.end; end += o.tick {
				until = max(until, end+o.tick)
			}
		}
	}
	for _, f := range o.faults {
		strikes := slices.ContainsFunc(o.used(), func(m string) bool { return slices.Contains(f.masters, m) })
		if f.installed && slices.Contains(endings, f.name) && strikes && f.began < to && f.to >= a.from {
			left, until = true, max(until, f.to)
		}
	}
	if a.dropped {
		return until, true
	}
	if a.open || a.to > to {
		for t := a.from; t < to; t += o.tick {
			left = left || o.stands(a.client, t) || o.unreachable(a.client, t) > o.spare()
		}
		return until, left
	}
	return until, left || !a.ok && !told
}
