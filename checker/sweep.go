package checker

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"lockpick/checker/facts"

	"lockpick/history"
)

// sweep returns an overlap for each stretch that begins while it and the earlier ones on its key that have not
// ended weigh more than the capacity together. Empty stretches contain no time and so overlap nothing. It takes
// O(n log n) time, and for each overlap the number of stretches that overlap there.
//
//	a  |-----------------|
//	b     |---|                 overlaps a
//	c             |---------|   overlaps a
//	d                       |--|
func sweep(all []facts.Hold, by facts.Lock) []overlap {
	var found []overlap
	var on active
	for _, s := range inOrder(by, all) {
		if len(on.going) > 0 && on.going[0].Key != s.Key {
			on = active{}
		}
		on.end(s.From)
		if on.weight+s.Weight > by.Capacity {
			found = append(found, overlapWith(by, opposing(by, &on, s), s))
		}
		heap.Push(&on, s)
		if on.longest == nil || s.To > on.longest.To {
			on.longest = s
		}
	}
	return found
}

// inOrder returns the stretches that are not empty, by key and then in the order in which they begin. Those that count
// as one are one.
func inOrder(x facts.Lock, all []facts.Hold) []*facts.Hold {
	order := make([]*facts.Hold, 0, len(all))
	for i := range all {
		if !all[i].Empty() {
			order = append(order, &all[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *facts.Hold) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), a.Compare(b))
	})
	if x.Reentrant() {
		return merged(order)
	}
	return order
}

// merged replaces overlapping stretches of one client on a key by one that lasts until the last of them ends. They are
// in the order of inOrder. A crash ends all stretches of its client, so these are of one life of it.
func merged(order []*facts.Hold) []*facts.Hold {
	var all []*facts.Hold
	type owner struct{ key, client string }
	last := map[owner]*facts.Hold{}
	for _, s := range order {
		mine := owner{s.Key, s.Client}
		if m := last[mine]; m != nil && s.From < m.To {
			if s.To > m.To {
				m.To, m.Ops, m.LastLease = s.To, append(m.Ops[:1:1], s.Ops...), s.Lease
			}
			continue
		}
		m := *s
		last[mine] = &m
		all = append(all, &m)
	}
	return all
}

// active holds the stretches that have begun and not ended, as a heap: the one that ends first is on top.
type active struct {
	going   []*facts.Hold
	weight  int64
	longest *facts.Hold // of all that have begun, the one that ends last
}

func (a *active) Len() int           { return len(a.going) }
func (a *active) Less(i, j int) bool { return a.going[i].To < a.going[j].To }
func (a *active) Swap(i, j int)      { a.going[i], a.going[j] = a.going[j], a.going[i] }
func (a *active) Push(s any) {
	a.going = append(a.going, s.(*facts.Hold))
	a.weight += s.(*facts.Hold).Weight
}

func (a *active) Pop() any {
	last := len(a.going) - 1
	s := a.going[last]
	a.going = a.going[:last]
	a.weight -= s.Weight
	return s
}

// end removes the stretches that end by a time.
func (a *active) end(by time.Duration) {
	for len(a.going) > 0 && a.going[0].To <= by {
		heap.Pop(a)
	}
}

// opposing returns the stretches that are going on and oppose one that begins now, the one that lasts longest first. A
// mutex has one holder, so it names one; and it names no more than history.MaxPermits, which exceed any capacity.
func opposing(x facts.Lock, on *active, later *facts.Hold) []*facts.Hold {
	if x.Capacity == 1 && x.Kind != history.Semaphore {
		return []*facts.Hold{on.longest}
	}
	var named []*facts.Hold
	for _, s := range on.going {
		if x.Conflicts(s, later.Weight) {
			named = append(named, s)
		}
	}
	slices.SortFunc(named, func(a, b *facts.Hold) int { return cmp.Or(cmp.Compare(b.To, a.To), a.Compare(b)) })
	return named[:min(len(named), history.MaxPermits)]
}

// overlapWith returns the overlap of a stretch with those that opposing returns.
func overlapWith(x facts.Lock, named []*facts.Hold, later *facts.Hold) overlap {
	o := overlap{earlier: named[0], later: later, named: named, end: later.To, law: x}
	weight := later.Weight
	for _, s := range named {
		weight += s.Weight
	}
	for _, s := range slices.Backward(named) {
		if weight -= s.Weight; weight <= x.Capacity {
			o.end = min(o.end, s.To)
			break
		}
	}
	slices.SortFunc(o.named, (*facts.Hold).Compare)
	return o
}
