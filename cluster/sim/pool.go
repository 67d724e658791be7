package sim

import "math/bits"

// Pool keeps parts of a world that has ended for the next one: its coroutines, with the stacks that they
// have grown, its queue, and its free commands and messages. All of them are reset, so that a world from
// a pool behaves like any other. At most one world uses a pool at a time.
type Pool struct {
	world      *World // an empty world; nil: none
	coroutines []*coroutine
}

// freeList holds free messages or asks of a world. The latest one is used first, so those that the world
// has never used stay at the beginning, unchanged.
type freeList[T any] struct {
	all    []T
	unused int // number of unchanged ones at the beginning
}

// spare is the number of free ones that are kept: enough for the commands that clients have in flight at
// a time, except for the hundreds of releases that they may repeat after masters were away.
const spare = 256

// take returns a free one, if there is one.
func (f *freeList[T]) take() (x T, ok bool) {
	n := len(f.all) - 1
	if n < 0 {
		return x, false
	}
	x, f.all = f.all[n], f.all[:n]
	f.unused = min(f.unused, n)
	return x, true
}

func (f *freeList[T]) put(x T) {
	if len(f.all) < spare {
		f.all = append(f.all, x)
	}
}

// renewed returns the list with all of them reset.
func (f freeList[T]) renewed(renew func(T)) freeList[T] {
	for _, x := range f.all[f.unused:] {
		renew(x)
	}
	f.unused = len(f.all)
	return f
}

// NewWorld does the same as NewWorldOf with the parts of the pool. Reclaim gives them back to the pool.
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
	*w = World{
		queue: w.queue, messages: w.messages.renewed((*message).renew), asks: w.asks.renewed((*ask).renew),
		who: w.who[:0], all: w.all[:0], idle: w.idle[:0],
	}
}

// Close ends the coroutines that the pool has kept.
func (p *Pool) Close() {
	for _, c := range p.coroutines {
		c.stop()
	}
	p.coroutines = nil
}

// renew resets a coroutine that has nothing to run, but keeps its stack.
func (c *coroutine) renew() {
	*c = coroutine{next: c.next, stop: c.stop, yield: c.yield, goroutine: c.goroutine}
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

// renew resets a free message.
func (m *message) renew() {
	*m = message{}
	m.event.do, m.timer.event.do, m.timer.rings = m, &m.timer, (*overdue)(m)
}

// renew resets a free ask.
func (a *ask) renew() {
	clear(a.votes[:cap(a.votes)])
	clear(a.unanswers[:cap(a.unanswers)])
	*a = ask{seq: a.seq, votes: a.votes[:0], unanswers: a.unanswers[:0]}
	if a.seq == nil {
		a.seq = a.run
	}
	a.timer.event.do, a.timer.rings = &a.timer, a
}
