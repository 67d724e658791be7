package checker

import (
	"fmt"
	"time"

	"lockpick/checker/narrative"

	"lockpick/checker/facts"
	"lockpick/history/fault"

	"lockpick/history"
)

// explainOverlap is a stretch that began while it was not compatible with the earlier stretches on its key that were
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

// violation returns an overlap as a Violation. Its Ops prove it: the operations that began
// the earlier stretches and say how long they last, then the operation that began the later.
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
	what := narrative.Count(writers, "writer", "writers")
	if readers := len(all) - writers; readers > 0 {
		what = narrative.Count(readers, "reader", "readers") + " and " + what
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

// noOverlap says that a number of stretches were compatible.
func noOverlap(x facts.Lock, count string) string {
	if x.Exclusive() {
		return fmt.Sprintf("no two of %s overlapped", count)
	}
	return fmt.Sprintf("none of %s began while others left no room for it", count)
}

// leaseOverlap finds the overlap of two leases' holds, if there is one.
func (r *run) leaseOverlap(a, b *history.Lease) (overlap, bool) {
	if a == nil || b == nil {
		return overlap{}, false
	}
	both := facts.HoldsOf([]*history.Lease{a, b}, r.Lock)
	if found := sweep(both, r.Lock); len(found) > 0 {
		return found[0], true
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
	n.Lease(b, o.to())
	n.LostQuorum(a, b, o.later.From)
	n.KeyChanges(a, max(b.Acquired(), o.later.From))
	n.Refusals(b.Process)
}
