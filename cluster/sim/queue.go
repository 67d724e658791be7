package sim

// event is something that will happen, once, at its time. It is part of what it
// happens to, and scheduling it again takes back its former time.
type event struct {
	ticket uint64 // of the one entry that counts; 0: none
	who    int    // the process it lets go on, or 0 (see Strategy)
	do     happening
}

type happening interface{ happen() }

// entry is an event's place in the queue. An entry whose ticket is no longer the
// event's is stale, and skipped.
type entry struct {
	at     int64 // ns
	ticket uint64
	event  *event
}

// queue is the events to come: a heap with four children a node, ordered by time and
// then by ticket, and beside it those that are due now.
type queue struct {
	heap    []entry
	due     []entry // of this instant
	tickets uint64
	stale   int // entries in heap, at most
}

func (e *entry) before(o *entry) bool {
	return e.at < o.at || e.at == o.at && e.ticket < o.ticket
}

// schedule has an event happen at a time that is not before now.
func (q *queue) schedule(now, at int64, e *event) {
	q.tickets++
	if e.ticket != 0 {
		q.stale++
	}
	e.ticket = q.tickets
	if at <= now {
		q.due = append(q.due, entry{now, e.ticket, e})
		return
	}
	q.push(entry{at, e.ticket, e})
	if q.stale > 1024 && q.stale > len(q.heap)/2 {
		q.sweep()
	}
}

// cancel takes an event back. It says whether it was yet to happen.
func (q *queue) cancel(e *event) bool {
	if e.ticket == 0 {
		return false
	}
	e.ticket = 0
	q.stale++
	return true
}

func (q *queue) push(x entry) {
	q.heap = append(q.heap, x)
	h := q.heap
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !x.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
}

func (q *queue) pop() entry {
	h := q.heap
	top := h[0]
	n := len(h) - 1
	x := h[n]
	h[n] = entry{}
	q.heap = h[:n]
	if n > 0 {
		q.sink(0, x)
	}
	return top
}

// sink puts x where node i is, or below.
func (q *queue) sink(i int, x entry) {
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
		i = least
	}
	h[i] = x
}

// sweep throws stale entries out, so that timers which were stopped cost no memory
// until their time has come.
func (q *queue) sweep() {
	live := q.heap[:0]
	for _, x := range q.heap {
		if x.event.ticket == x.ticket {
			live = append(live, x)
		}
	}
	clear(q.heap[len(live):])
	q.heap = live
	for i := (len(live) - 2) / 4; i >= 0 && len(live) > 1; i-- {
		q.sink(i, live[i])
	}
	q.stale = 0
}

// advance goes to the next instant at which something happens; ok is false if nothing
// is to come. If it is one thing, that is returned, else all are in due.
func (q *queue) advance() (at int64, one *event, ok bool) {
	for len(q.heap) > 0 {
		x := q.pop()
		if x.event.ticket != x.ticket {
			q.stale--
			continue
		}
		if len(q.heap) == 0 || q.heap[0].at > x.at {
			x.event.ticket = 0
			return x.at, x.event, true
		}
		q.due = append(q.due, x)
		for len(q.heap) > 0 && q.heap[0].at == x.at {
			q.due = append(q.due, q.pop())
		}
		return x.at, nil, true
	}
	return 0, nil, false
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
		if x.event.ticket == x.ticket {
			live = append(live, x)
		}
	}
	clear(q.due[len(live):])
	q.due = live
}
