package checker

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"lockpick/history"
)

// stretch is a time in which a client relies on a lock: a hold (L2) or a
// critical section (L3). It is half-open, [from, to), so a stretch that begins at
// the instant at which another ends does not overlap it.
type stretch struct {
	key, client, token string
	from, to           time.Duration
	ops                []int          // the operations that begin it and say how long it lasts
	lease              *history.Lease // the lease of the hold or section; nil if unknown
	last               *history.Lease // of stretches that count as one: the lease of the one that ends last, if that is not lease
	weight             int64
	cut                bool // a section that was never left
	crashed            bool // its client crashed in it
}

func (s *stretch) empty() bool { return s.to <= s.from }

// overlap is a stretch that began while it was not compatible with the earlier stretches on its key that were
// going on.
type overlap struct {
	earlier *stretch   // of those that it was not compatible with, the one that lasts longest
	later   *stretch   // the one that began
	named   []*stretch // all of those, in the order in which they began
	end     time.Duration
}

// from and to return the bounds of the time in which they were not compatible.
func (o overlap) from() time.Duration { return o.later.from }
func (o overlap) to() time.Duration   { return o.end }

// law says which stretches on a key may overlap: those whose weights are no more than the capacity together.
type law struct {
	kind     history.LockKind
	capacity int64
	weight   func(mode string, permits int) int64
}

func lawOf(h *history.Header) law { return law{h.LockKind(), h.Capacity(), h.Weight} }

// of returns the weight of a lease. One that is not known weighs as little as any.
func (x law) of(l *history.Lease) int64 {
	if l == nil {
		return x.weight(history.ModeRead, 1)
	}
	return x.weight(l.Mode, l.Permits)
}

// nests reports whether overlapping stretches of one owner count as one.
func (x law) nests() bool { return x.kind == history.Reentrant }

// opposes reports whether an earlier stretch is named where a later one with a weight exceeded the capacity.
// Permits add up, so each stretch that has any is named.
func (x law) opposes(s *stretch, weight int64) bool {
	return x.kind == history.Semaphore || s.weight+weight > x.capacity
}

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

// before compares stretches by when they begin.
func (s *stretch) before(b *stretch) int {
	return cmp.Or(cmp.Compare(s.from, b.from), cmp.Compare(s.ops[0], b.ops[0]))
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

// holds returns the stretches in which each lease's client may rely on it. Two
// acquisitions are two leases even if a weak lock gives them the same token.
func holds(leases []*history.Lease, by law) []stretch {
	all := make([]stretch, 0, len(leases))
	for _, l := range leases {
		for _, span := range l.Holds() {
			s := stretch{key: l.Key, client: l.Process, token: l.Token, from: span.From, to: span.To, lease: l, weight: by.of(l)}
			for _, g := range l.Grants {
				if g.At == span.From || g.At > span.From && g.At <= span.To {
					s.ops = append(s.ops, g.Index)
				}
			}
			if l.ReleaseIndex >= 0 && span.To == l.Released {
				s.ops = append(s.ops, l.ReleaseIndex)
			}
			if l.LostIndex >= 0 && span.To == l.Lost {
				s.ops = append(s.ops, l.LostIndex)
			}
			all = append(all, s)
		}
	}
	return all
}
