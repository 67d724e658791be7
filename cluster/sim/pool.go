package sim

import "lockpick/cluster/sim/world"

// spares holds the free messages and asks of a world, which a world.Pool passes on to the next one.
type spares struct {
	messages freeList[*message]
	asks     freeList[*ask]
}

// sparesOf returns the spares of a world, which all its clusters share.
func sparesOf(w *world.World) *spares {
	s, ok := w.Spares.(*spares)
	if !ok {
		s = &spares{}
		w.Spares = s
	}
	return s
}

// Renew resets the messages and asks that were used.
func (s *spares) Renew() {
	s.messages.renew((*message).renew)
	s.asks.renew((*ask).renew)
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

// renew resets all of them.
func (f *freeList[T]) renew(renew func(T)) {
	for _, x := range f.all[f.unused:] {
		renew(x)
	}
	f.unused = len(f.all)
}

// renew resets a free message.
func (m *message) renew() {
	*m = message{}
	m.event.Do = m
	m.timer.Init((*overdue)(m))
}

// renew resets a free ask.
func (a *ask) renew() {
	clear(a.votes[:cap(a.votes)])
	clear(a.unanswers[:cap(a.unanswers)])
	*a = ask{seq: a.seq, votes: a.votes[:0], unanswers: a.unanswers[:0]}
	if a.seq == nil {
		a.seq = a.run
	}
	a.timer.Init(a)
}
