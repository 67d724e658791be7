package world

import "math/bits"

// Pool keeps parts of a world that has ended for the next one: its coroutines, with the stacks that they
// have grown, its queue, and its Spares. All of them are reset, so that a world from
// a pool behaves like any other. At most one world uses a pool at a time.
type Pool struct {
	world      *World // an empty world; nil: none
	coroutines []*Coroutine
}

// Spares are parts of a simulation that a Pool keeps for the next world.
type Spares interface {
	// Renew resets the parts of a world that has ended.
	Renew()
}

// NewWorld does the same as NewOf with the parts of the pool. Reclaim gives them back to the pool.
func (p *Pool) NewWorld(seed uint64, c Choices) *World {
	w := p.world
	if w == nil {
		w = &World{}
	}
	w.init(seed, c)
	w.kept, w.keeps = p.coroutines, true
	*p = Pool{}
	return w
}

// Reclaim takes the parts of a world that has ended and is no longer used.
func (p *Pool) Reclaim(w *World) {
	p.Close()
	p.world, p.coroutines = w, w.kept
	for _, c := range p.coroutines {
		c.renew()
	}
	w.queue.reset()
	if w.Spares != nil {
		w.Spares.Renew()
	}
	*w = World{queue: w.queue, Spares: w.Spares, who: w.who[:0], all: w.all[:0], idle: w.idle[:0]}
}

// Close ends the coroutines that the pool has kept.
func (p *Pool) Close() {
	for _, c := range p.coroutines {
		c.stop()
	}
	p.coroutines = nil
}

// renew resets a coroutine that has nothing to run, but keeps its stack.
func (c *Coroutine) renew() {
	*c = Coroutine{next: c.next, stop: c.stop, yield: c.yield, goroutine: c.goroutine}
}

// reset empties the queue, and keeps its memory.
func (q *queue) reset() {
	q.near.reset()
	clear(q.far.events)
	clear(q.due[:cap(q.due)])
	q.far.events, q.due, q.tickets = q.far.events[:0], q.due[:0], 0
}

// reset removes all events.
func (w *wheel) reset() {
	for i, set := range w.full {
		for ; set != 0; set &= set - 1 {
			w.buckets[i*64+bits.TrailingZeros64(set)] = nil
		}
		w.full[i] = 0
	}
}
