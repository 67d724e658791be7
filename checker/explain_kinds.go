package checker

import (
	"fmt"

	"lockpick/history"
)

// Part says what a lease has of a lock that several clients may hold: "for reading", "2 of the 3 permits", or "". shared says
// that others may hold the lock beside it.
func Part(h *history.Header, l *history.Lease) (part string, shared bool) {
	x := lawOf(h)
	shared = x.of(l) < x.capacity
	switch {
	case x.kind == history.ReadWrite && shared:
		part = "for reading"
	case x.kind == history.ReadWrite:
		part = "for writing"
	case x.kind == history.Semaphore:
		part = x.permits(x.of(l))
	}
	return part, shared
}

// what names a key and what a lease has of it: "k0", "k0 for reading", "2 of the 3 permits of k0".
func (r *run) what(l *history.Lease) string {
	part, _ := Part(&r.h.Header, l)
	switch {
	case part == "":
		return l.Key
	case r.law.kind == history.Semaphore:
		return part + " of " + l.Key
	}
	return l.Key + " " + part
}

// permits is a number of permits, of all that there are.
func (x law) permits(n int64) string {
	switch {
	case n > x.capacity:
		return fmt.Sprintf("%d of %d permits", n, x.capacity)
	case x.capacity == 1:
		return "the only permit"
	case n == x.capacity:
		return fmt.Sprintf("all %d permits", n)
	}
	return fmt.Sprintf("%d of the %d permits", n, x.capacity)
}

// alone reports whether a holder has the lock for itself, so that each overlap is one of two of them.
func (x law) alone() bool { return x.kind == history.Mutex || x.kind == history.Reentrant }

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
