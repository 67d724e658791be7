package redlock

import (
	"runtime"
	"sync/atomic"
)

// desk is where the questions of all goroutines come together, on their way to the
// lanes. Whoever asks alone carries the question to the lanes at once. Where several
// ask at a time, the first of them lets the others put theirs on the desk, and carries
// all to the lanes: there they leave in one write per master, and that is what makes a
// command cheap, for the masters too.
type desk struct {
	questions []*question // guarded by the masters' mutex, like what follows
	spare     []*question
	carrying  bool         // somebody carries, or is about to
	asking    atomic.Int64 // callers who wait for votes
}

// dispatch has a question be asked, and says whether it may be. answered must follow
// once its caller waits no more.
func (m *redisMasters) dispatch(q *question) bool {
	d := &m.desk
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.pending.Add(1)
	others := d.asking.Add(1) > 1
	lanes := q.talk.lanes
	if &lanes[0] != &m.lanes[0] || len(q.orders) < len(lanes) || !others && !d.carrying {
		m.mu.Unlock()
		for i := range q.orders {
			lanes[q.orders[i].master].submit([]*question{q})
		}
		return true
	}
	d.questions = append(d.questions, q)
	first := !d.carrying
	d.carrying = true
	m.mu.Unlock()
	if first {
		m.carry()
		if m.more() { // others have asked meanwhile: this caller has carried enough
			m.goroutines.Go(func() {
				for m.carry(); m.more(); {
					m.carry()
				}
			})
		}
	}
	return true
}

// carry takes what is on the desk to the lanes.
func (m *redisMasters) carry() {
	d := &m.desk
	runtime.Gosched() // whom the latest votes woke may ask, too
	m.mu.Lock()
	questions := d.questions
	d.questions, d.spare = d.spare, nil
	m.mu.Unlock()
	for _, l := range m.lanes {
		l.submit(questions)
	}
	clear(questions)
	m.mu.Lock()
	d.spare = questions[:0]
	m.mu.Unlock()
}

// more says whether there is more to carry; if not, nobody carries any more.
func (m *redisMasters) more() bool {
	d := &m.desk
	m.mu.Lock()
	defer m.mu.Unlock()
	d.carrying = len(d.questions) > 0
	return d.carrying
}

// answered notes that a caller waits no more.
func (m *redisMasters) answered() { m.desk.asking.Add(-1) }
