package sim

import (
	"fmt"
	"maps"
	"time"

	"lockpick/cluster"
)

// incoming is an arrival at a master's host: a message, or the bytes of a stream.
type incoming interface {
	serve(m *Master) // the server reads it
	broken()         // no server can receive it
	vanish()         // it is lost
	via() *Link
}

// receive handles an arrival at the master's host.
func (m *Master) receive(x incoming) {
	if s, ok := x.(*Stream); ok {
		s.waiting = true
	}
	switch m.state {
	case cluster.Down:
		x.broken()
	case cluster.Paused:
		m.backlog = m.keep(m.backlog, x)
	default:
		if m.busy > m.world.now {
			m.queue = m.keep(m.queue, x)
			return
		}
		x.serve(m)
	}
}

// unaccepted limits the messages that wait at a master that does not read: beyond it the host drops new
// connections. unsent limits the messages that wait in a link in the same way. Real hosts drop connections
// much earlier (Redis asks for 511 connections); these limits are for runs in which clients retry for
// hours.
const (
	unaccepted = 1 << 13
	unsent     = 1 << 12
)

// keep adds an arrival to those that the host keeps until the server reads them.
func (m *Master) keep(waiting []incoming, x incoming) []incoming {
	if msg, ok := x.(*message); ok && msg.stage == greeting && len(waiting) >= unaccepted {
		msg.lose()
		return waiting
	}
	return append(waiting, x)
}

func (x *message) via() *Link { return x.link }

// serve executes the command of a message.
func (x *message) serve(m *Master) {
	if x.stage == greeting {
		x.conn.run = m.run
		x.answer(okReply, 0)
		return
	}
	if x.conn.run != m.run { // the connection ended with an earlier start of the server
		x.broken()
		return
	}
	r := m.db().run(&x.ask.request, x.byText)
	if m.account != nil {
		m.reportMessage(x)
	}
	if want := x.ask.cmd.Wait; want > 0 {
		r = m.heard(r, want, x.ask.timeout)
	}
	wait := m.settle() + r.later
	switch {
	case m.state == cluster.Down: // the server could not write its changes, and has ended
		x.broken()
	case r.later < 0:
		x.vanish()
	default:
		x.answer(r, wait)
	}
}

// reportMessage reports what the command of a message has changed.
func (m *Master) reportMessage(x *message) {
	if x.conn.id == 0 {
		x.conn.id = m.connected()
	}
	m.account.end(x.conn.id, x.link.client.name, x.ask.request.words(x.byText))
}

// heard returns the reply to a command that is followed by WAIT. If too few replicas have confirmed a yes,
// it returns an error, which comes after half of the client's timeout (on real masters after three
// quarters).
func (m *Master) heard(r reply, want int, timeout time.Duration) reply {
	if r.kind == replyError || r.kind == replyNil || r.kind == replyInt && r.n == 0 {
		return r
	}
	n, at := m.acknowledged(int64(want), m.world.now+int64(timeout/2))
	if n < int64(want) {
		r = errorReply(fmt.Sprintf("%d of %d replicas have heard of it in time", n, want))
	}
	r.later = time.Duration(at - m.world.now)
	return r
}

// settle ends a command. It returns how long the master must wait for its disk.
func (m *Master) settle() (wait time.Duration) {
	if n := len(m.store.pairs); n > 64 && n > 2*m.store.swept {
		m.store.sweep(m.db().now)
	}
	wait = m.disk.flush()
	if wait > 0 {
		m.busy = m.world.now + int64(wait)
		m.world.at(m.busy, &m.turn)
	}
	return wait
}

// turn is called when the master has waited for its disk.
type turn Master

func (t *turn) fire() {
	m := (*Master)(t)
	queue := m.queue
	m.queue = nil
	for _, x := range queue {
		m.receive(x)
	}
}

// forget loses the arrivals over a link that the master has not read.
func (m *Master) forget(l *Link) {
	kept := m.backlog[:0]
	var lost []incoming
	for _, x := range m.backlog {
		if x.via() == l {
			lost = append(lost, x)
		} else {
			kept = append(kept, x)
		}
	}
	m.backlog = kept
	for _, x := range lost {
		x.vanish()
	}
}

func (m *Master) db() DB {
	return DB{s: &m.store, now: floor(m.wall.read(m.world.now)), m: m}
}

// floor converts ns to ms, rounded down as in Redis.
func floor(ns int64) int64 {
	if ns < 0 {
		return (ns - 999_999) / 1_000_000
	}
	return ns / 1_000_000
}

func (db DB) clock() int64 { return db.m.wall.read(db.m.world.now) }

// refuses returns the error with which the master refuses a command that writes, or "".
func (db DB) refuses(name string) string {
	if !db.m.disk.broken && !db.m.store.weighed {
		return ""
	}
	return db.m.refuses(name)
}

func (m *Master) refuses(name string) string {
	if m.disk.broken {
		return misconfAOF
	}
	if m.full() && name != "del" && name != "unlink" && name != "expire" && name != "pexpire" && name != "hdel" && name != "flushall" {
		if m.evict(); m.full() {
			return outOfMemory
		}
	}
	return ""
}

// changed is called with every change to the keys.
func (m *Master) changed(key string, v value, gone bool) {
	m.changes++
	if m.touches != nil {
		m.touches[key]++
	}
	m.disk.note(key, v, gone)
	if len(m.replicas) > 0 {
		m.ship(change{key, v, gone})
	}
}

// touch counts the changes of a key from now on, and returns their number so far.
func (m *Master) touch(key string) int64 {
	if m.touches == nil {
		m.touches = map[string]int64{}
	}
	return m.touches[key]
}

func cloneKeys(keys map[string]value) map[string]value {
	if keys == nil {
		return map[string]value{}
	}
	return maps.Clone(keys)
}
