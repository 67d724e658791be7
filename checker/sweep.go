package checker

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

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
func sweep(all []stretch, by law) []overlap {
	var found []overlap
	var on active
	for _, s := range by.inOrder(all) {
		if len(on.going) > 0 && on.going[0].key != s.key {
			on = active{}
		}
		on.end(s.from)
		if on.weight+s.weight > by.capacity {
			found = append(found, by.overlap(by.named(&on, s), s))
		}
		heap.Push(&on, s)
		if on.longest == nil || s.to > on.longest.to {
			on.longest = s
		}
	}
	return found
}

// inOrder returns the stretches that are not empty, by key and then in the order in which they begin. Those that count
// as one are one.
func (x law) inOrder(all []stretch) []*stretch {
	order := make([]*stretch, 0, len(all))
	for i := range all {
		if !all[i].empty() {
			order = append(order, &all[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *stretch) int {
		return cmp.Or(strings.Compare(a.key, b.key), a.before(b))
	})
	if x.nests() {
		return merged(order)
	}
	return order
}

// merged replaces overlapping stretches of one client on a key by one that lasts until the last of them ends. They are
// in the order of inOrder. A crash ends all stretches of its client, so these are of one life of it.
func merged(order []*stretch) []*stretch {
	var all []*stretch
	type owner struct{ key, client string }
	last := map[owner]*stretch{}
	for _, s := range order {
		mine := owner{s.key, s.client}
		if m := last[mine]; m != nil && s.from < m.to {
			if s.to > m.to {
				m.to, m.ops, m.last = s.to, append(m.ops[:1:1], s.ops...), s.lease
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
	going   []*stretch
	weight  int64
	longest *stretch // of all that have begun, the one that ends last
}

func (a *active) Len() int           { return len(a.going) }
func (a *active) Less(i, j int) bool { return a.going[i].to < a.going[j].to }
func (a *active) Swap(i, j int)      { a.going[i], a.going[j] = a.going[j], a.going[i] }
func (a *active) Push(s any) {
	a.going = append(a.going, s.(*stretch))
	a.weight += s.(*stretch).weight
}

func (a *active) Pop() any {
	last := len(a.going) - 1
	s := a.going[last]
	a.going = a.going[:last]
	a.weight -= s.weight
	return s
}

// end removes the stretches that end by a time.
func (a *active) end(by time.Duration) {
	for len(a.going) > 0 && a.going[0].to <= by {
		heap.Pop(a)
	}
}

// named returns the stretches that are going on and oppose one that begins now, the one that lasts longest first. A
// mutex has one holder, so it names one; and it names no more than history.MaxPermits, which exceed any capacity.
func (x law) named(on *active, later *stretch) []*stretch {
	if x.capacity == 1 && x.kind != history.Semaphore {
		return []*stretch{on.longest}
	}
	var named []*stretch
	for _, s := range on.going {
		if x.opposes(s, later.weight) {
			named = append(named, s)
		}
	}
	slices.SortFunc(named, func(a, b *stretch) int { return cmp.Or(cmp.Compare(b.to, a.to), a.before(b)) })
	return named[:min(len(named), history.MaxPermits)]
}

// overlap returns the overlap of a stretch with those that named returns.
func (x law) overlap(named []*stretch, later *stretch) overlap {
	o := overlap{earlier: named[0], later: later, named: named, end: later.to}
	weight := later.weight
	for _, s := range named {
		weight += s.weight
	}
	for _, s := range slices.Backward(named) {
		if weight -= s.weight; weight <= x.capacity {
			o.end = min(o.end, s.to)
			break
		}
	}
	slices.SortFunc(o.named, (*stretch).before)
	return o
}
