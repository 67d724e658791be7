package sim

// event is something that will happen, once, at its time. It is part of what it
// happens to, and scheduling it again takes back its former time.
type event struct {
	ticket uint64 // of its latest scheduling; 0: it is not to happen
	slot   uint32 // in the queue's heap; 0: it is not there
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

// queue is the events to come: a heap with four children a node, ordered by time and
// then by ticket, and beside it those that are due now.
//
// A simulation lives in this heap. So its nodes are four to a cache line and hold no
// pointers, and it knows where each event is: one that is taken back leaves it at
// once. Most timeouts are, and would otherwise be most of the heap.
type queue struct {
	heap    []node
	slots   []slot   // [0] is not used
	free    []uint32 // slots
	due     []entry  // of this instant
	tickets uint64
}

// node is an event's place in time: when, and its ticket above its slot.
type node struct {
	at  int64 // ns
	key uint64
}

const (
	slotBits = 22 // four million events at a time, and 2⁴² tickets
	slotMask = 1<<slotBits - 1
)

type slot struct {
	event *event
	place int // in the heap
}

func (x *node) before(o *node) bool {
	return x.at < o.at || x.at == o.at && x.key < o.key
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
	q.rise(len(q.heap)-1, node{at, e.ticket<<slotBits | uint64(e.slot)})
}

// grow makes a new slot.
func (q *queue) grow() uint32 {
	if q.slots == nil {
		q.slots = make([]slot, 1, 64)
		q.heap = make([]node, 0, 64)
		q.free = make([]uint32, 0, 64)
	}
	if len(q.slots) > slotMask {
		panic("sim: more than four million things are to come: something schedules without end")
	}
	q.slots = append(q.slots, slot{})
	return uint32(len(q.slots) - 1)
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
	case i > 0 && last.before(&q.heap[(i-1)/4]):
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
	e := q.slots[q.heap[0].key&slotMask].event
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
		if !x.before(&h[up]) {
			break
		}
		h[i] = h[up]
		q.slots[h[i].key&slotMask].place = i
		i = up
	}
	h[i] = x
	q.slots[x.key&slotMask].place = i
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
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&x) {
			break
		}
		h[i] = h[least]
		q.slots[h[i].key&slotMask].place = i
		i = least
	}
	h[i] = x
	q.slots[x.key&slotMask].place = i
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
