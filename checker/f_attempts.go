package checker

import (
	"slices"
	"time"

	"lockpick/history"
)

// attempt is one acquire, from its call to its outcome.
type attempt struct {
	key, client string
	weight      int64 // how much of the lock's capacity it asks for
	invoked     time.Duration
	ended       time.Duration // if it never returned: when its client crashed or called acquire again, or the history ended
	ok, open    bool
	dropped     bool // its client crashed or called acquire again before it returned
	err         string
	ops         []int
}

// attempts returns the acquires of a history in the order of their calls.
func (r *run) attempts() []attempt { return r.acquires.get(r.findAttempts) }

func (r *run) findAttempts() []attempt {
	var all []attempt
	byCall := map[int]int{}    // position in all by the line of the call
	open := map[string][]int{} // by client: the positions of its acquires that have not returned
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F == history.FCrash || op.F == history.FAcquire && op.Type == history.Invoke {
			for _, at := range open[op.Process] { // these calls never returned
				if all[at].open {
					all[at].ended, all[at].dropped = op.Time, true
				}
			}
			delete(open, op.Process)
		}
		if op.F != history.FAcquire {
			continue
		}
		if op.Type == history.Invoke {
			byCall[op.Index] = len(all)
			open[op.Process] = append(open[op.Process], len(all))
			all = append(all, attempt{key: op.Key, client: op.Process, weight: r.law.weight(op.Asks()), invoked: op.Time, ended: r.end, open: true, ops: []int{op.Index}})
			continue
		}
		call, known := r.called(op.Index)
		if at, ok := byCall[call]; known && ok {
			a := &all[at]
			a.ended, a.open, a.dropped, a.ok, a.err = op.Time, false, false, op.Type == history.OK, op.Error
			a.ops = append(a.ops, op.Index)
			delete(byCall, call)
		}
	}
	return all
}

// keyAttempts holds the acquires of one key, in the order of their calls.
type keyAttempts struct {
	all  []int32 // positions in attempts
	when intervals
}

// attemptsWithin returns the acquires of a key that were pending between two times, in the order
// of their calls.
func (r *run) attemptsWithin(key string, from, to time.Duration) []attempt {
	all := r.attempts()
	k := r.attemptsOn.get(func() map[string]*keyAttempts {
		byKey := map[string]*keyAttempts{}
		for i, a := range all {
			k := byKey[a.key]
			if k == nil {
				k = &keyAttempts{}
				byKey[a.key] = k
			}
			k.all = append(k.all, int32(i))
			k.when.spans = append(k.when.spans, history.Span{From: a.invoked, To: a.ended})
		}
		for _, k := range byKey {
			k.when = intervalsOf(k.when.spans)
		}
		return byKey
	})[key]
	if k == nil {
		return nil
	}
	var found []attempt
	k.when.each(from, to, func(i int) bool {
		if a := all[k.all[i]]; a.invoked < to && a.ended > from {
			found = append(found, a)
		}
		return true
	})
	slices.Reverse(found)
	return found
}

// cancelled reports whether an acquire ended for a reason outside the lock: the user interrupted
// the harness before the acquire ended, or its client crashed.
func (r *run) cancelled(a attempt) bool { return a.dropped || !a.ok && a.ended >= r.interrupted.at }

// refused reports whether masters said no to all recorded SETs of an acquire, and there were some.
func (r *run) refused(a attempt) bool {
	voted := false
	for v := range r.lookup().between(a.invoked, a.ended+r.slack+r.h.LongestTook()) {
		if v.Client != a.client || v.Key != a.key || v.Command != history.CommandSet || sent(v) < a.invoked || sent(v) > a.ended+r.slack {
			continue
		}
		if !v.Refused() {
			return false
		}
		voted = true
	}
	return voted && !a.dropped
}

// askingGap is the longest pause between two acquires of a client that counts as waiting throughout.
const askingGap = 250 * time.Millisecond
