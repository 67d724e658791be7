package redlock

import (
	"runtime"
	"sync/atomic"
)

// desk is where the questions of all goroutines come together, on their way to the
// lanes. There they leave in one write per master, and that is what makes a command
// cheap, for the masters too.
//
// Whoever asks alone carries the question to the lanes at once. Where several ask at a
// time, the first of them lets the others put theirs on the desk, as far as they are ready
// to, and carries what is there. But where those who were woken together have again and
// again asked together, a few µs apart, the last of them carries the questions of all.
type desk struct {
	questions []*question // guarded by the masters' mutex, like what follows
	spare     []*question
	carrying  bool // somebody carries, or is about to
	crowd     crowd

	asking atomic.Int64 // callers who wait for votes
}

// dispatch has a question be asked, and says whether it may be. answered must follow either
// way, once its caller waits no more.
func (m *redisMasters) dispatch(q *question) bool {
	d := &m.desk
	m.mu.Lock()
	others := d.asking.Add(1) > 1
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.pending.Add(1)
	present := d.crowd.asks(q.asked)
	lanes := q.talk.lanes
	if &lanes[0] != &m.lanes[0] || len(q.orders) < len(lanes) || !others && !d.carrying && len(d.questions) == 0 {
		m.mu.Unlock()
		for i := range q.orders {
			lanes[q.orders[i].master].submit([]*question{q})
		}
		return true
	}
	d.questions = append(d.questions, q)
	switch {
	case d.carrying:
		m.mu.Unlock()
	case present == some:
		if !d.crowd.awaited {
			m.await(q.asked)
		}
		m.mu.Unlock()
	default:
		d.carrying = true
		m.mu.Unlock()
		m.carry(present == all)
		if m.more() { // others have asked meanwhile: this caller has carried enough
			m.goroutines.Go(m.carryOn)
		}
	}
	return true
}

// carryOn carries until there is no more.
func (m *redisMasters) carryOn() {
	for m.carry(false); m.more(); {
		m.carry(false)
	}
}

// carry takes what is on the desk to the lanes. Unless that is all, it lets others ask
// first who are ready to.
func (m *redisMasters) carry(all bool) {
	d := &m.desk
	if !all {
		runtime.Gosched() // whom the latest votes woke may ask, too
	}
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
