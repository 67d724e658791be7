package sim

import "math"

// heap is events by their time, with four children a node. Its nodes are four to a cache
// line, hold no pointers, and are compared without a branch that a processor could guess
// wrong. And it knows where each event is, so that one can be taken out.
type heap struct {
	nodes []node
	slots []slot // [0] is not used
	free  []int  // slots
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

// first is when the first event happens; MaxInt64 if there is none.
func (h *heap) first() int64 {
	if len(h.nodes) == 0 {
		return math.MaxInt64
	}
	return h.nodes[0].at
}

func (h *heap) add(at int64, e *event) {
	if n := len(h.free); n > 0 {
		e.slot, h.free = h.free[n-1], h.free[:n-1]
	} else {
		e.slot = h.grow()
	}
	h.slots[e.slot].event = e
	h.nodes = append(h.nodes, node{})
	h.rise(len(h.nodes)-1, node{at, e.slot})
}

// grow makes a new slot.
func (h *heap) grow() int {
	if h.slots == nil {
		h.slots = make([]slot, 1, 16)
		h.nodes = make([]node, 0, 16)
		h.free = make([]int, 0, 16)
	}
	h.slots = append(h.slots, slot{})
	return len(h.slots) - 1
}

// remove takes an event out of the heap.
func (h *heap) remove(e *event) {
	i := h.slots[e.slot].place
	h.vacate(e)
	n := len(h.nodes) - 1
	last := h.nodes[n]
	h.nodes = h.nodes[:n]
	switch {
	case i == n:
	case i > 0 && last.at < h.nodes[(i-1)/4].at:
		h.rise(i, last)
	default:
		h.sink(i, last)
	}
}

// vacate gives up the slot of an event.
func (h *heap) vacate(e *event) {
	h.slots[e.slot].event = nil
	h.free = append(h.free, e.slot)
	e.slot = 0
}

// pop takes the first event out of the heap.
func (h *heap) pop() *event {
	e := h.slots[h.nodes[0].slot].event
	h.remove(e)
	return e
}

// rise puts x where node i is, or above.
func (h *heap) rise(i int, x node) {
	nodes := h.nodes
	for i > 0 {
		up := (i - 1) / 4
		if x.at >= nodes[up].at {
			break
		}
		nodes[i] = nodes[up]
		h.slots[nodes[i].slot].place = i
		i = up
	}
	nodes[i] = x
	h.slots[x.slot].place = i
}

// sink puts x where node i is, or below.
func (h *heap) sink(i int, x node) {
	nodes := h.nodes
	n := len(nodes)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least, at := first, nodes[first].at
		if first+4 <= n { // a chain of conditional moves
			four := (*[4]node)(nodes[first:])
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
				if t := nodes[c].at; t < at {
					least, at = c, t
				}
			}
		}
		if at >= x.at {
			break
		}
		nodes[i] = nodes[least]
		h.slots[nodes[i].slot].place = i
		i = least
	}
	nodes[i] = x
	h.slots[x.slot].place = i
}
