package facts

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// Acquire is one acquire, from its call to its outcome.
type Acquire struct {
	Key, Client string
	Weight      int64 // how much of the lock's capacity it asks for
	Invoked     time.Duration
	Ended       time.Duration // if it never returned: when its client crashed or called acquire again (of a multi-lock: for the key), or the history ended
	OK, Open    bool
	Dropped     bool // its client crashed or called acquire again before it returned
	Err         string
	Ops         []int
}

// Acquires returns the acquires of a history in the order of their calls.
func (r *Run) Acquires() []Acquire { return r.acquires.get(r.findAcquires) }

func (r *Run) findAcquires() []Acquire {
	var all []Acquire
	byCall := map[int]int{}    // position in all by the line of the call
	open := map[string][]int{} // by client: the positions of its acquires that have not returned
	for _, op := range r.History.All() {
		if op.F == history.FCrash || op.F == history.FAcquire && op.Type == history.Invoke {
			open[op.Process] = slices.DeleteFunc(open[op.Process], func(at int) bool {
				a := &all[at]
				if op.F == history.FAcquire && r.Lock.Kind == history.Multi && a.Key != op.Key {
					return false // of the same call
				}
				if a.Open { // it never returned
					a.Ended, a.Dropped = op.Time, true
				}
				return true
			})
		}
		if op.F != history.FAcquire {
			continue
		}
		if op.Type == history.Invoke {
			byCall[op.Index] = len(all)
			open[op.Process] = append(open[op.Process], len(all))
			all = append(all, Acquire{Key: op.Key, Client: op.Process, Weight: r.Lock.Weight(op.Asks()), Invoked: op.Time, Ended: r.End, Open: true, Ops: []int{op.Index}})
			continue
		}
		call, known := r.CallOf(op.Index)
		if at, ok := byCall[call]; known && ok {
			a := &all[at]
			a.Ended, a.Open, a.Dropped, a.OK, a.Err = op.Time, false, false, op.Type == history.OK, op.Error
			a.Ops = append(a.Ops, op.Index)
			delete(byCall, call)
		}
	}
	return all
}

// AcquiresOf returns the acquires of a client (of a multi-lock: for the key) in the order of their calls, and the position
// of the last one that was called by a time, or -1.
func (r *Run) AcquiresOf(client, key string, at time.Duration) (all []Acquire, last int) {
	queue := func(client, key string) keyClient {
		if r.Lock.Kind == history.Multi {
			return keyClient{key, client}
		}
		return keyClient{client: client}
	}
	all = r.acquiresOf.get(func() map[keyClient][]Acquire {
		byClient := map[keyClient][]Acquire{}
		for _, a := range r.Acquires() {
			id := queue(a.Client, a.Key)
			byClient[id] = append(byClient[id], a)
		}
		return byClient
	})[queue(client, key)]
	last, exact := slices.BinarySearchFunc(all, at, func(a Acquire, at time.Duration) int { return cmp.Compare(a.Invoked, at) })
	if !exact {
		last--
	}
	return all, last
}

// keyAcquires holds the acquires of one key, in the order of their calls.
type keyAcquires struct {
	all  []int32 // positions in attempts
	when intervals
}

// AcquiresWithin returns the acquires of a key (of a multi-lock: of any) that were pending between two times, in the
// order of their calls.
func (r *Run) AcquiresWithin(key string, from, to time.Duration) []Acquire {
	all := r.Acquires()
	k := r.acquiresOn.get(func() map[string]*keyAcquires {
		byKey := map[string]*keyAcquires{}
		for i, a := range all {
			name := r.Lock.waitsFor(a.Key)
			k := byKey[name]
			if k == nil {
				k = &keyAcquires{}
				byKey[name] = k
			}
			k.all = append(k.all, int32(i))
			k.when.spans = append(k.when.spans, history.Span{From: a.Invoked, To: a.Ended})
		}
		for _, k := range byKey {
			k.when = intervalsOf(k.when.spans)
		}
		return byKey
	})[r.Lock.waitsFor(key)]
	if k == nil {
		return nil
	}
	var found []Acquire
	k.when.each(from, to, func(i int) bool {
		if a := all[k.all[i]]; a.Invoked < to && a.Ended > from {
			found = append(found, a)
		}
		return true
	})
	slices.Reverse(found)
	return found
}

// Cancelled reports whether an acquire ended for a reason outside the lock: the user interrupted
// the harness before the acquire ended, or its client crashed.
func (r *Run) Cancelled(a Acquire) bool { return a.Dropped || !a.OK && a.Ended >= r.Interrupted.At }

// RefusedByAll reports whether masters said no to all recorded SETs of an acquire, and there were some.
func (r *Run) RefusedByAll(a Acquire) bool {
	voted := false
	for v := range r.VoteIndex().Between(a.Invoked, a.Ended+r.Slack+r.History.LongestTook()) {
		if v.Client != a.Client || v.Key != a.Key || v.Command != history.CommandSet || Sent(v) < a.Invoked || Sent(v) > a.Ended+r.Slack {
			continue
		}
		if !v.Refused() {
			return false
		}
		voted = true
	}
	return voted && !a.Dropped
}

// Series is a time in which a client asked for a key: an acquire, and those that followed after it was refused, with pauses
// that count as waiting throughout. A grant ends it.
type Series struct {
	Key, Client string
	From, To    time.Duration
	Acquires    []Acquire // at least one
}

// Last returns the acquire that ended a series.
func (s *Series) Last() Acquire { return s.Acquires[len(s.Acquires)-1] }

// Lines returns the lines of a series' acquires.
func (s *Series) Lines() (lines []int) {
	for _, a := range s.Acquires {
		lines = append(lines, a.Ops...)
	}
	return lines
}

// SeriesSince returns the series of the acquires that were called after a healing, in the order of their first calls, and
// how many acquires are part of none because they were cancelled.
func (r *Run) SeriesSince(h Healing) (all []*Series, cancelled int) {
	latest := map[keyClient]*Series{}
	for _, a := range r.Acquires() {
		id := keyClient{a.Key, a.Client}
		s := latest[id]
		switch {
		case a.Ops[0] < h.Line:
			continue
		case r.Cancelled(a):
			cancelled++
			delete(latest, id)
			continue
		case s == nil || s.Last().OK || a.Invoked-s.To > h.Gap():
			s = &Series{Key: a.Key, Client: a.Client, From: a.Invoked}
			latest[id] = s
			all = append(all, s)
		}
		s.To = a.Ended
		s.Acquires = append(s.Acquires, a)
	}
	return all, cancelled
}

// Healing is the end of all faults. From then on a free lock must be granted within a
// bound; before it, DF and AV promise nothing.
type Healing struct {
	At, Bound time.Duration
	Line      int
	Gone      []string // masters that did not come back
	Problem   string   // why nothing can be judged after it
}

// Gap is the longest pause between two acquires of a client that counts as waiting throughout.
func (h *Healing) Gap() time.Duration { return history.AskingGapWithin(h.Bound) }

// Healed finds the last healing of a history.
func (r *Run) Healed() Healing {
	for i := len(r.History.Ops) - 1; i >= 0; i-- {
		op := &r.History.Ops[i]
		if op.F != history.FHealed {
			continue
		}
		h := Healing{At: op.Time, Line: op.Index}
		if op.Value != nil {
			h.Bound, h.Gone = op.Value.Bound, op.Value.Masters
		}
		switch {
		case op.Error != "":
			h.Problem = "the faults did not heal: " + op.Error
		case op.Type == history.Fail:
			h.Problem = "the faults did not heal"
		case h.Bound <= 0:
			h.Problem = "the history names no bound within which a free lock must be granted"
		}
		return h
	}
	return Healing{Problem: "the run ended before its faults had healed, so nothing was acquired after them"}
}
