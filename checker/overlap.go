package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

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

func (o overlap) to() time.Duration { return o.end }

// violation returns an overlap as a Violation. Its Ops prove it: the operations that began
// the earlier stretches and say how long they last, then the operation that began the later.
func violation(o overlap) Violation {
	v := Violation{Key: o.later.key, At: o.from(), Until: o.to()}
	for _, s := range o.named {
		v.Ops, v.Tokens, v.Clients = append(v.Ops, s.ops...), append(v.Tokens, s.token), append(v.Clients, s.client)
	}
	v.Ops, v.Tokens, v.Clients = append(v.Ops, o.later.ops[0]), append(v.Tokens, o.later.token), append(v.Clients, o.later.client)
	return v
}

// heldBy says who held a lock that is not held alone when somebody was granted it nevertheless: "2 readers held it, c1
// and c2", "all 3 permits were held by c1, c2 and c3".
func (x law) heldBy(o overlap) string {
	who := clientsOf(o.named)
	if x.kind == history.Semaphore {
		return fmt.Sprintf("%s were held by %s", x.permits(weightOf(o.named)), who)
	}
	if len(o.named) == 1 {
		return fmt.Sprintf("the %s %s held it", x.role(o.earlier), who)
	}
	return fmt.Sprintf("%d %ss held it, %s", len(o.named), x.role(o.earlier), who)
}

// insideWere says the same of critical sections.
func (x law) insideWere(o overlap) string {
	who := clientsOf(o.named)
	switch {
	case x.kind == history.Semaphore && len(o.named) > 1:
		return fmt.Sprintf("%s were still in theirs with %s", who, x.permits(weightOf(o.named)))
	case x.kind == history.Semaphore:
		return fmt.Sprintf("%s was still in one with %s", who, x.permits(weightOf(o.named)))
	case len(o.named) == 1:
		return fmt.Sprintf("the %s %s was still in one", x.role(o.earlier), who)
	}
	return fmt.Sprintf("%d %ss were still in theirs, %s", len(o.named), x.role(o.earlier), who)
}

// together says what the clients of an overlap were or had at once.
func (x law) together(o overlap) string {
	all := append(o.named[:len(o.named):len(o.named)], o.later)
	if x.kind == history.Semaphore {
		return fmt.Sprintf("%s had %s", clientsOf(all), x.permits(weightOf(all)))
	}
	writers := 0
	for _, s := range all {
		if s.weight == x.capacity {
			writers++
		}
	}
	what := count(writers, "writer", "writers")
	if readers := len(all) - writers; readers > 0 {
		what = count(readers, "reader", "readers") + " and " + what
	}
	return fmt.Sprintf("%s were %s", clientsOf(all), what)
}

// role returns reader or writer.
func (x law) role(s *stretch) string {
	if s.weight < x.capacity {
		return "reader"
	}
	return "writer"
}

func clientsOf(all []*stretch) string {
	var clients []string
	for _, s := range all {
		clients = append(clients, s.client)
	}
	return Enumerate(clients)
}

func weightOf(all []*stretch) (weight int64) {
	for _, s := range all {
		weight += s.weight
	}
	return weight
}

// compatible says that a number of stretches were compatible.
func (x law) compatible(count string) string {
	if x.alone() {
		return fmt.Sprintf("no two of %s overlapped", count)
	}
	return fmt.Sprintf("none of %s began while others left no room for it", count)
}

// leaseOverlap finds the overlap of two leases' holds, if there is one.
func (r *run) leaseOverlap(a, b *history.Lease) (overlap, bool) {
	if a == nil || b == nil {
		return overlap{}, false
	}
	both := holds([]*history.Lease{a, b}, r.law)
	if found := sweep(both, r.law); len(found) > 0 {
		return found[0], true
	}
	return overlap{}, false
}

// overlap adds why two leases were held at once: the earlier lease and the masters that voted for
// it, how these lost its key, and the masters whose votes granted the later lease.
func (n *narrative) overlap(o overlap) {
	a, b := o.earlier.lease, o.later.lease
	n.lease(a, o.to())
	if last := o.earlier.last; last != nil {
		n.lease(last, o.to())
	}
	for _, s := range o.named {
		if s != o.earlier && s.lease != nil {
			n.lease(s.lease, o.to())
		}
	}
	n.narrowed(a)
	n.lease(b, o.to())
	n.lostQuorum(a, b, o.later.from)
	n.changes(a, max(b.Acquired(), o.later.from))
	n.tried(b.Process)
}
