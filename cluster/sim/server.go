package sim

import (
	"fmt"
	"maps"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
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
		if m.busy > m.world.Now() {
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
		x.answer(keyspace.OK, 0)
		return
	}
	if x.conn.run != m.run { // the connection ended with an earlier start of the server
		x.broken()
		return
	}
	m.admit()
	r := m.runRequest(&x.ask.request, x.byText)
	if m.account != nil {
		m.reportMessage(x)
	}
	if want := x.ask.cmd.Wait; want > 0 {
		r = m.heard(r, want, x.ask.timeout)
	}
	wait := m.settle() + r.Later
	switch {
	case m.state == cluster.Down: // the server could not write its changes, and has ended
		x.broken()
	case r.Later < 0:
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
	m.account.end(x.conn.id, x.link.client.Name(), x.ask.request.words(x.byText))
}

// heard returns the reply to a command that is followed by WAIT. If too few replicas have confirmed a yes,
// it returns an error, which comes after half of the client's timeout (on real masters after three
// quarters).
func (m *Master) heard(r keyspace.Reply, want int, timeout time.Duration) keyspace.Reply {
	if r.Kind == keyspace.ReplyError || r.Kind == keyspace.ReplyNil || r.Kind == keyspace.ReplyInt && r.N == 0 {
		return r
	}
	n, at := m.acknowledged(int64(want), m.world.Now()+int64(timeout/2))
	if n < int64(want) {
		r = keyspace.Error(fmt.Sprintf("%d of %d replicas have heard of it in time", n, want))
	}
	r.Later = time.Duration(at - m.world.Now())
	return r
}

// settle ends a command. It returns how long the master must wait for its disk.
func (m *Master) settle() (wait time.Duration) {
	m.serveWaiting()
	m.begun = false
	if m.store.Swollen() {
		m.store.Sweep(m.now())
	}
	wait = m.disk.flush()
	if wait > 0 {
		m.busy = m.world.Now() + int64(wait)
		m.world.At(m.busy, &m.turn)
	}
	if m.state != cluster.Down {
		m.releaseServed(wait)
		m.sendInvalidations(wait)
	}
	return wait
}

// turn is called when the master has waited for its disk.
type turn Master

func (t *turn) Fire() {
	m := (*Master)(t)
	queue := m.queue
	m.queue = nil
	for _, x := range queue {
		m.receive(x)
	}
	m.timeOut()
	m.planExpiry()
}

// forget loses the arrivals over a link that the master has not read.
func (m *Master) forget(l *Link) {
	rest := m.backlog[:0]
	var lost []incoming
	for _, x := range m.backlog {
		if x.via() == l {
			lost = append(lost, x)
		} else {
			rest = append(rest, x)
		}
	}
	m.backlog = rest
	for _, x := range lost {
		x.vanish()
	}
}

// now returns the time of the master's wall clock in ms since Epoch.
func (m *Master) now() int64 { return floor(m.clock()) }

// keys returns the master's keys at the present time.
func (m *Master) keys() keyspace.DB { return keyspace.At(&m.store, m.now()) }

// floor converts ns to ms, rounded down as in Redis.
func floor(ns int64) int64 {
	if ns < 0 {
		return (ns - 999_999) / 1_000_000
	}
	return ns / 1_000_000
}

// clock returns the time of the master's wall clock in ns since Epoch.
func (m *Master) clock() int64 { return m.wall.Read(m.world.Now()) }

// admit prepares the execution of a command of a client: the master evicts keys, and decides
// whether it has memory for the command, however many keys that will write.
func (m *Master) admit() {
	if !m.store.Weighed {
		return
	}
	if m.full() {
		m.evict()
	}
	m.oom = m.full()
}

// refuses returns the error with which the master refuses a command that writes, or "".
func (m *Master) refuses(c *command) string {
	switch {
	case m.disk.broken:
		return misconfAOF
	case c.Grows && m.oom:
		return outOfMemory
	}
	return ""
}

// changed is called with every change to the keys. The changes of one step (a command, a script, a
// transaction) belong together.
func (m *Master) changed(key string, v keyspace.Value, gone bool) {
	m.changes++
	if m.touches != nil {
		m.touches[key]++
	}
	c := change{key, v, gone, !m.begun}
	m.begun = true
	m.disk.note(c)
	if len(m.trackers) > 0 {
		m.invalidate(key)
	}
	if len(m.waiting.all) > 0 && !gone {
		m.waiting.stored(key)
	}
	if len(m.replicas) > 0 {
		m.ship(c)
	}
}

// touch counts the changes of a key from now on, and returns their number so far.
func (m *Master) touch(key string) int64 {
	if m.touches == nil {
		m.touches = map[string]int64{}
	}
	return m.touches[key]
}

func cloneKeys(keys map[string]keyspace.Value) map[string]keyspace.Value {
	if keys == nil {
		return map[string]keyspace.Value{}
	}
	return maps.Clone(keys)
}
