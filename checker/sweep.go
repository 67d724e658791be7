package checker

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/plural"
)

// sweep returns an overlap for each hold that begins while it and the earlier ones on its key that have not
// ended weigh more than the capacity together. Empty holds contain no time and so overlap nothing. It takes
// O(n log n) time, and for each overlap the number of holds that overlap there.
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
		if on.weight+s.Weight > by.Capacity && !s.Continues {
			found = append(found, overlapWith(by, opposing(by, &on, s), s))
		}
		heap.Push(&on, s)
		if on.longest == nil || s.To > on.longest.To {
			on.longest = s
		}
	}
	return found
}

// inOrder returns the holds that are not empty, by key and then in the order in which they begin. Those that count
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

// merged replaces overlapping holds of one client on a key by one that lasts until the last of them ends. They are
// in the order of inOrder. A crash ends all holds of its client, so these are of one life of it.
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

// active holds the holds that have begun and not ended, as a heap: the one that ends first is on top.
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

// end removes the holds that end by a time.
func (a *active) end(by time.Duration) {
	for len(a.going) > 0 && a.going[0].To <= by {
		heap.Pop(a)
	}
}

// opposing returns the holds that are going on and oppose one that begins now, the one that lasts longest first. A
// mutex has one holder, so it names one; and it names no more than history.MaxPermits, which exceed any capacity.
func opposing(x facts.Lock, on *active, later *facts.Hold) []*facts.Hold {
	if x.Exclusive() {
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

// overlapWith returns the overlap of a hold with those that opposing returns.
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

// overlap is a hold that began while it was not compatible with the earlier holds on its key that were
// going on.
type overlap struct {
	earlier *facts.Hold   // of those that it was not compatible with, the one that lasts longest
	later   *facts.Hold   // the one that began
	named   []*facts.Hold // all of those, in the order in which they began
	end     time.Duration
	law     facts.Lock
}

// from and to return the bounds of the time in which they were not compatible.
func (o overlap) from() time.Duration { return o.later.From }

func (o overlap) to() time.Duration { return o.end }

// overlaps returns the overlaps that began in the judged window as violations, and what explains each.
func (r *run) overlaps(all []overlap, explain func(*narrative.Narrative, overlap)) (found []proven) {
	for _, o := range all {
		if r.InWindow(o.from()) {
			found = append(found, proven{violation(o), func(n *narrative.Narrative) { explain(n, o) }})
		}
	}
	return found
}

// beganThough says that a hold began while it must not. alone is the clause for a lock with one holder.
func (r *run) beganThough(alone string) string {
	if r.Lock.Exclusive() {
		return alone
	}
	return "began while others that had not ended left no room for it"
}

// violation returns an overlap as a Violation. Its Ops prove it: the operations that began
// the earlier holds and say how long they last, then the operation that began the later.
func violation(o overlap) narrative.Violation {
	v := narrative.Violation{Key: o.later.Key, At: o.from(), Until: o.to()}
	for _, s := range o.named {
		v.Ops, v.Tokens, v.Clients = append(v.Ops, s.Ops...), append(v.Tokens, s.Token), append(v.Clients, s.Client)
	}
	v.Ops, v.Tokens, v.Clients = append(v.Ops, o.later.Ops[0]), append(v.Tokens, o.later.Token), append(v.Clients, o.later.Client)
	return v
}

// heldBy says who held a lock that is not held alone when somebody was granted it nevertheless: "2 readers held it, c1
// and c2", "all 3 permits were held by c1, c2 and c3".
func (o overlap) heldBy() string {
	x := o.law
	who := clientsOf(o.named)
	if x.Kind == history.Semaphore {
		return fmt.Sprintf("%s were held by %s", narrative.Permits(x, weightOf(o.named)), who)
	}
	if len(o.named) == 1 {
		return fmt.Sprintf("the %s %s held it", role(x, o.earlier), who)
	}
	return fmt.Sprintf("%d %ss held it, %s", len(o.named), role(x, o.earlier), who)
}

// insideWere says the same of critical sections.
func (o overlap) insideWere() string {
	x := o.law
	who := clientsOf(o.named)
	switch {
	case x.Kind == history.Semaphore && len(o.named) > 1:
		return fmt.Sprintf("%s were still in theirs with %s", who, narrative.Permits(x, weightOf(o.named)))
	case x.Kind == history.Semaphore:
		return fmt.Sprintf("%s was still in one with %s", who, narrative.Permits(x, weightOf(o.named)))
	case len(o.named) == 1:
		return fmt.Sprintf("the %s %s was still in one", role(x, o.earlier), who)
	}
	return fmt.Sprintf("%d %ss were still in theirs, %s", len(o.named), role(x, o.earlier), who)
}

// together says what the clients of an overlap were or had at once.
func (o overlap) together() string {
	x := o.law
	all := append(o.named[:len(o.named):len(o.named)], o.later)
	if x.Kind == history.Semaphore {
		return fmt.Sprintf("%s had %s", clientsOf(all), narrative.Permits(x, weightOf(all)))
	}
	writers := 0
	for _, s := range all {
		if s.Weight == x.Capacity {
			writers++
		}
	}
	what := plural.Count(writers, "writer", "writers")
	if readers := len(all) - writers; readers > 0 {
		what = plural.Count(readers, "reader", "readers") + " and " + what
	}
	return fmt.Sprintf("%s were %s", clientsOf(all), what)
}

// role returns reader or writer.
func role(x facts.Lock, s *facts.Hold) string {
	if s.Weight < x.Capacity {
		return "reader"
	}
	return "writer"
}

func clientsOf(all []*facts.Hold) string {
	var clients []string
	for _, s := range all {
		clients = append(clients, s.Client)
	}
	return fault.Enumerate(clients)
}

func weightOf(all []*facts.Hold) (weight int64) {
	for _, s := range all {
		weight += s.Weight
	}
	return weight
}

// noOverlap says that a number of holds were compatible.
func noOverlap(x facts.Lock, count string) string {
	if x.Exclusive() {
		return fmt.Sprintf("no two of %s overlapped", count)
	}
	return fmt.Sprintf("none of %s began while others left no room for it", count)
}

// leaseOverlap finds the overlap of two leases' holds, if there is one. beside are leases that were held then, too: permits of a
// semaphore can be too many together although those of any two of them are not.
func (r *run) leaseOverlap(a, b *history.Lease, beside ...*history.Lease) (overlap, bool) {
	if a == nil || b == nil {
		return overlap{}, false
	}
	leases := slices.DeleteFunc(append(beside, a, b), func(l *history.Lease) bool { return l == nil })
	slices.SortFunc(leases, func(x, y *history.Lease) int { return cmp.Compare(x.Grants[0].Index, y.Grants[0].Index) })
	found := sweep(facts.HoldsOf(slices.Compact(leases), r.Lock), r.Lock)
	for _, o := range found {
		if len(beside) == 0 || o.later.Lease == b {
			return o, true
		}
	}
	return overlap{}, false
}

// explainOverlap adds why two leases were held at once: the earlier lease and the masters that voted for
// it, how these lost its key, and the masters whose votes granted the later lease.
func (r *run) explainOverlap(n *narrative.Narrative, o overlap) {
	a, b := o.earlier.Lease, o.later.Lease
	n.Lease(a, o.to())
	if last := o.earlier.LastLease; last != nil {
		n.Lease(last, o.to())
	}
	for _, s := range o.named {
		if s != o.earlier && s.Lease != nil {
			n.Lease(s.Lease, o.to())
		}
	}
	n.Withheld(a)
	n.CutOff(a, o.to())
	n.StoodStill(a, o.later.From)
	n.Elections(a, o.later.From)
	n.Lease(b, o.to())
	explained := n.LostQuorum(a, b, o.later.From)
	for _, s := range o.named { // another one's loss left room for it
		if !explained && s != o.earlier && s.Lease != nil && s.Lease != a {
			explained = n.LostQuorum(s.Lease, b, o.later.From)
		}
	}
	n.KeyChanges(a, max(b.Acquired(), o.later.From))
	n.Refusals(b.Process)
}
