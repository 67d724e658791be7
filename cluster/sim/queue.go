package sim

import (
	"cmp"
	"slices"
)

// event is something that will happen, once, at its time. It is part of what it
// happens to, and scheduling it again takes back its former time.
type event struct {
	ticket uint64 // of its latest scheduling; 0: it is not to happen
	slot   int    // in the queue's heap; 0: it is not there
	who    int    // the process it lets go on, or 0 (see Strategy)
	do     happening
}

type happening interface{ happen() }

// entry is an event outside of the heap: due now, or kept for a client that is
// paused. It is stale, and skipped, if its ticket is no longer the event's.
type entry struct {
	ticket uint64
	event  *event
}

func (x *entry) stale() bool { return x.event.ticket != x.ticket }

// queue is the events to come: a heap with four children a node, ordered by time, and
// beside it those that are due now, in the order in which they were scheduled.
//
// A simulation lives in this heap. So its nodes are four to a cache line, hold no
// pointers, and are compared without a branch that a processor could guess wrong. And
// it knows where each event is: one that is taken back leaves it at once. Most timeouts
// are, and would otherwise be most of the heap.
type queue struct {
	heap    []node
	slots   []slot  // [0] is not used
	free    []int   // slots
	due     []entry // of this instant
	tickets uint64
}

// node is an event's place in time.
type node struct {
	at   int64 // ns
	slot int
}

type slot struct {
	event *event
	place int // in the heap
}

// schedule has an event happen at a time that is not before now.
func (q *queue) schedule(now, at int64, e *event) {
	q.tickets++
	if e.slot != 0 {
		q.remove(e)
	}
	e.ticket = q.tickets
	if at <= now {
		q.due = append(q.due, entry{e.ticket, e})
		return
	}
	if n := len(q.free); n > 0 {
		e.slot, q.free = q.free[n-1], q.free[:n-1]
	} else {
		e.slot = q.grow()
	}
	q.slots[e.slot].event = e
	q.heap = append(q.heap, node{})
	q.rise(len(q.heap)-1, node{at, e.slot})
}

// grow makes a new slot.
func (q *queue) grow() int {
	if q.slots == nil {
		q.slots = make([]slot, 1, 64)
		q.heap = make([]node, 0, 64)
		q.free = make([]int, 0, 64)
	}
	q.slots = append(q.slots, slot{})
	return len(q.slots) - 1
}

// cancel takes an event back. It says whether it was yet to happen.
func (q *queue) cancel(e *event) bool {
	if e.ticket == 0 {
		return false
	}
	e.ticket = 0
	if e.slot != 0 {
		q.remove(e)
	}
	return true
}

// remove takes an event out of the heap.
func (q *queue) remove(e *event) {
	i := q.slots[e.slot].place
	q.vacate(e)
	n := len(q.heap) - 1
	last := q.heap[n]
	q.heap = q.heap[:n]
	switch {
	case i == n:
	case i > 0 && last.at < q.heap[(i-1)/4].at:
		q.rise(i, last)
	default:
		q.sink(i, last)
	}
}

// vacate gives up the slot of an event.
func (q *queue) vacate(e *event) {
	q.slots[e.slot].event = nil
	q.free = append(q.free, e.slot)
	e.slot = 0
}

// pop takes the first event out of the heap.
func (q *queue) pop() *event {
	e := q.slots[q.heap[0].slot].event
	q.vacate(e)
	n := len(q.heap) - 1
	last := q.heap[n]
	q.heap = q.heap[:n]
	if n > 0 {
		q.sink(0, last)
	}
	return e
}

// rise puts x where node i is, or above.
func (q *queue) rise(i int, x node) {
	h := q.heap
	for i > 0 {
		up := (i - 1) / 4
		if x.at >= h[up].at {
			break
		}
		h[i] = h[up]
		q.slots[h[i].slot].place = i
		i = up
	}
	h[i] = x
	q.slots[x.slot].place = i
}

// sink puts x where node i is, or below.
func (q *queue) sink(i int, x node) {
	h := q.heap
	n := len(h)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least, at := first, h[first].at
		if first+4 <= n { // a chain of conditional moves
			four := (*[4]node)(h[first:])
			if t := four[1].at; t < at {
				least, at = first+1, t
			}
			if t := four[2].at; t < at {
				least, at = first+2, t
			}
			if t := four[3].at; t < at {
				least, at = first+3, t
			}
		} else {
			for c := first + 1; c < n; c++ {
				if t := h[c].at; t < at {
					least, at = c, t
				}
			}
		}
		if at >= x.at {
			break
		}
		h[i] = h[least]
		q.slots[h[i].slot].place = i
		i = least
	}
	h[i] = x
	q.slots[x.slot].place = i
}

// advance goes to the next instant at which something happens; ok is false if nothing
// is to come. If it is one thing, that is returned, else all are in due.
func (q *queue) advance() (at int64, one *event, ok bool) {
	if len(q.heap) == 0 {
		return 0, nil, false
	}
	at = q.heap[0].at
	e := q.pop()
	if len(q.heap) == 0 || q.heap[0].at > at {
		e.ticket = 0
		return at, e, true
	}
	q.due = append(q.due, entry{e.ticket, e})
	for len(q.heap) > 0 && q.heap[0].at == at {
		e := q.pop()
		q.due = append(q.due, entry{e.ticket, e})
	}
	slices.SortFunc(q.due, func(a, b entry) int { return cmp.Compare(a.ticket, b.ticket) })
	return at, nil, true
}

// take removes one of what is due.
func (q *queue) take(i int) *event {
	e := q.due[i].event
	if len(q.due) == 1 {
		q.due = q.due[:0]
	} else {
		q.due = append(q.due[:i], q.due[i+1:]...)
	}
	e.ticket = 0
	return e
}

// prune throws out of due what was taken back meanwhile.
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
