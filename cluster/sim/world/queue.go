package world

import (
	"cmp"
	"math"
	"slices"
)

// Event happens once, at its time (World.At, World.After). It is a field of the object to which it
// happens. Scheduling it again cancels its former time.
type Event struct {
	ticket     uint64 // number of its latest scheduling; 0: it is not scheduled
	at         int64  // ns, while it is in the wheel or the heap
	prev, next *Event // in the ring of its bucket; nil: it is not in the wheel
	inHeap     int    // place in the heap, from 1; 0: it is not there
	who        int    // number of the coroutine that it lets continue, or 0 (see Strategy)
	Do         Action // what happens; it must be set before the event is scheduled
}

// Action is what an event does. It must not wait.
type Action interface{ Fire() }

// entry is an event that is due now, or kept for a client that is paused. It is stale, and
// skipped, if its ticket is no longer the event's.
type entry struct {
	ticket uint64
	event  *Event
}

func (x *entry) stale() bool { return x.event.ticket != x.ticket }

// queue contains the future events: those of the next moments in a wheel, later ones in a
// heap, and those that are due now in a list, in the order in which they were scheduled.
//
// The simulation spends much of its time in this queue. Most events that happen are messages,
// which are near. Most distant events are timeouts, which are cancelled long before they are
// due, and are removed at once. So events never move from the heap to the wheel.
type queue struct {
	near    wheel
	far     eventHeap
	due     []entry // events of this instant
	tickets uint64
}

// schedule schedules an event for a time that is not before now.
func (q *queue) schedule(now, at int64, e *Event) {
	q.tickets++
	q.remove(e)
	e.ticket = q.tickets
	switch {
	case at <= now:
		q.due = append(q.due, entry{e.ticket, e})
	case at>>bucketBits-now>>bucketBits < buckets && q.near.add(at, e):
	default:
		q.far.add(at, e)
	}
}

// cancel cancels an event. It reports whether the event was scheduled.
func (q *queue) cancel(e *Event) bool {
	if e.ticket == 0 {
		return false
	}
	e.ticket = 0
	q.remove(e)
	return true
}

// remove removes an event from the wheel or the heap.
func (q *queue) remove(e *Event) {
	if e.next != nil {
		q.near.remove(e)
	} else if e.inHeap != 0 {
		q.far.remove(e)
	}
}

// advance goes to the next instant with an event; ok is false if there is none. It returns a
// single event, and puts several into due.
func (q *queue) advance(now int64) (at int64, one *Event, ok bool) {
	near, later := q.near.first(now), q.far.first()
	switch {
	case near != nil && near.at < later:
		at = near.at
		if alone := near.next == near || near.next.at != at; alone {
			q.near.remove(near)
			near.ticket = 0
			return at, near, true
		}
	case later == math.MaxInt64:
		return 0, nil, false
	default:
		at = later
		if near == nil || near.at > at {
			e := q.far.pop()
			if q.far.first() != at {
				e.ticket = 0
				return at, e, true
			}
			q.due = append(q.due, entry{e.ticket, e})
		}
	}
	for q.far.first() == at {
		e := q.far.pop()
		q.due = append(q.due, entry{e.ticket, e})
	}
	for near != nil && near.at == at {
		next := near.next
		if next == near {
			next = nil
		}
		q.near.remove(near)
		q.due = append(q.due, entry{near.ticket, near})
		near = next
	}
	slices.SortFunc(q.due, func(a, b entry) int { return cmp.Compare(a.ticket, b.ticket) })
	return at, nil, true
}

// each calls f with all events that are not due yet, in no particular order.
func (q *queue) each(f func(e *Event, at int64)) {
	q.near.each(f)
	for _, e := range q.far.events {
		f(e, e.at)
	}
}

// take removes one of the events that are due.
func (q *queue) take(i int) *Event {
	e := q.due[i].event
	if len(q.due) == 1 {
		q.due = q.due[:0]
	} else {
		q.due = append(q.due[:i], q.due[i+1:]...)
	}
	e.ticket = 0
	return e
}

// prune removes the events from due that were cancelled meanwhile.
func (q *queue) prune() {
	live := q.due[:0]
	for _, x := range q.due {
		if !x.stale() {
			live = append(live, x)
		}
	}
	clear(q.due[len(live):])
	q.due = live
}
