package sim

import (
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/sim/world"
)

// stage is the progress of a command on its way to a master and back.
type stage uint8

const (
	greeting stage = iota // a new connection is being opened
	asking                // the command is on its way to the master, or there
	replying              // the reply to it is on its way back
	greeted               // the new connection's first reply is on its way back
	failing               // the client is about to learn that the connection has failed
)

// message is one command to one master, on its way there and back. It needs no coroutine: its
// event moves it from one stage to the next.
type message struct {
	event  world.Event
	ask    *ask
	link   *Link
	conn   *conn
	after  *message // the conversation's next message
	began  int64    // the client's time at which it was submitted
	master int32
	place  int32 // its index in ask.unanswers
	stage  stage

	voted   bool           // its vote was cast, and the client no longer waits for it
	travels bool           // a part of it is in the network or at the master
	extra   bool           // a duplicate: the client does not wait for it
	byText  bool           // the master did not know its script by its hash
	waits   bool           // it waits in the link for a fault to end
	held    bool           // counted as held
	delayed bool           // counted as delayed
	reset   bool           // its connection was reset
	timed   bool           // it has a timer of its own
	reply   keyspace.Reply // set from the stage replying on
	err     error          // set in the stage failing
	came    int64          // true time at which it reached the link, if that has a fault
	leaves  int64          // true time at which the reply leaves its master, if it waits for a disk or a replica
	timer   world.Timer    // timer of its own, if it had to wait for its turn
	_       [32]byte       // keeps fields that are used together in one line of the processor's cache: a message has six lines
}

func (c *Cluster) message(a *ask, master int) *message {
	m, ok := c.spares.messages.take()
	if !ok {
		m = &message{}
		m.renew()
	}
	m.ask, m.master, m.link = a, int32(master), a.masters.links[master]
	a.refs++
	return m
}

// release frees the message when neither the client nor the network uses it.
func (m *message) release() {
	if !m.voted || m.travels {
		return
	}
	a, l := m.ask, m.link
	if m.timed {
		m.timer.End()
	}
	l.world.Cancel(&m.event)
	m.conn, m.after, m.err = nil, nil, nil
	m.reply = keyspace.Reply{}
	m.stage = greeting
	m.voted, m.extra, m.byText, m.waits, m.held, m.delayed, m.reset, m.timed = false, false, false, false, false, false, false, false
	l.cluster.spares.messages.put(m)
	a.release()
}

// start sends the command in its turn.
func (m *message) start() {
	l := m.link
	m.began = l.client.Reading()
	if m.ask.masters.closed {
		m.fail(&l.master.failures.closed)
		return
	}
	if m.conn = l.idle(); m.conn != nil {
		m.stage = asking
	} else {
		c, err := l.dial()
		if err != nil {
			m.fail(err)
			return
		}
		m.conn, m.stage = c, greeting
	}
	m.conn.busy = m
	m.send()
}

// send puts the message into its link.
func (m *message) send() {
	m.travels = true
	m.link.enter(m)
}

// fail notifies the client, a moment later, that the connection did not work.
func (m *message) fail(err error) {
	m.stage, m.err, m.travels = failing, err, true
	l := m.link
	l.world.After(l.cluster.options.Latency.Min, &m.event)
}

// vanish is called when the message has left the network.
func (m *message) vanish() {
	m.travels = false
	m.release()
}

// lose loses the message, and everything else that its connection would carry.
func (m *message) lose() {
	m.conn.poisoned = true
	m.vanish()
}

// copyOf makes the message a duplicate of another.
func (m *message) copyOf(o *message) {
	m.conn, m.stage, m.byText, m.reply = o.conn, o.stage, o.byText, o.reply
	m.voted, m.extra, m.travels = true, true, true
}

// inPlaceOf makes the message the one that its client waits for, instead of another one that is
// still in flight.
func (m *message) inPlaceOf(o *message) {
	m.began, m.conn, m.after, m.byText = o.began, o.conn, o.after, o.byText
	o.after, o.voted = nil, true
	if o.timer.End() {
		m.timed = true
		m.timer.Begin(m.link.client, o.timer.Left())
	}
	m.ask.replace(o, m)
}

func (m *message) size() int64 {
	switch m.stage {
	case greeting:
		return 32
	case asking:
		if m.byText {
			return m.ask.request.size + int64(len(m.ask.request.script.Text))
		}
		return m.ask.request.size
	case greeted:
		return 128
	}
	return m.reply.Size()
}

// Fire moves the message to its next stage.
func (m *message) Fire() {
	switch {
	case m.waits:
		m.link.deliver(m)
	case m.stage <= asking:
		m.link.master.receive(m)
	case m.stage == failing:
		m.arrive()
	case m.leaves > 0 && m.link.master.endedBefore(m.conn.run, m.leaves): // the server died while the reply waited
		m.broken()
	default:
		m.link.enter(m)
	}
}

// answer sends the master's reply after the time d.
func (m *message) answer(r keyspace.Reply, d time.Duration) {
	if m.extra {
		m.vanish()
		return
	}
	m.reply, m.leaves = r, 0
	if d > 0 {
		m.leaves = m.link.world.Now() + int64(d)
	}
	if m.stage == greeting {
		m.stage = greeted
	} else {
		m.stage = replying
	}
	c := m.link.cluster
	if !c.steady && c.world.Chance(c.options.Loss, world.WhatLoss) {
		m.conn.poisoned = true
		m.vanish()
		return
	}
	c.world.After(d+c.latency(), &m.event)
}

// broken notifies the client that the connection has ended, as the host of a dead master does.
func (m *message) broken() {
	if m.extra {
		m.vanish()
		return
	}
	m.err = &m.link.master.failures.broken
	if m.stage == greeting {
		m.err = &m.link.master.failures.refused
	}
	m.stage, m.leaves = replying, 0
	m.reply = keyspace.Reply{}
	m.link.world.After(m.link.cluster.latency(), &m.event)
}

// arrive is called when the message has returned to the client.
func (m *message) arrive() {
	l := m.link
	if l.client.Paused() {
		m.waitForClient()
		return
	}
	switch {
	case m.voted: // the client gave up before
		m.vanish()
	case m.err != nil:
		m.travels = false
		m.vote(m.err)
	case m.stage == greeted:
		m.stage = asking
		m.send()
	case m.reply.Kind == keyspace.ReplyError && m.reply.Text == unknownSHA && m.ask.request.script != nil && !m.byText:
		m.byText, m.stage = true, asking
		m.send()
	default:
		m.travels = false
		m.vote(nil)
	}
}

// waitForClient keeps a message for a paused client, as its kernel would.
func (m *message) waitForClient() {
	m.event.Do = (*kept)(m)
	m.link.client.Defer(&m.event)
}

// kept is a message that the kernel of its client has kept.
type kept message

func (k *kept) Fire() {
	m := (*message)(k)
	m.event.Do = m
	m.arrive()
}

// overdue is the timer of one message.
type overdue message

func (o *overdue) Fire() { (*message)(o).expire() }

// expire is called at the client's timeout. It closes the connection; bytes that were sent on
// it continue.
func (m *message) expire() {
	if !m.voted {
		m.vote(&m.link.master.failures.silent)
	}
}

// vote casts the master's vote. It may free the message.
func (m *message) vote(err error) {
	l, a := m.link, m.ask
	m.voted = true
	if m.timed {
		m.timer.End()
	}
	if m.conn != nil {
		if m.conn.busy == m {
			m.conn.busy = nil
		}
		if err != nil || m.conn.poisoned {
			l.shut(m.conn)
		}
	}
	var n int64
	if err == nil {
		n, err = number(&m.reply, l.master.name)
	}
	master, took := int(m.master), time.Duration(l.client.Reading()-m.began)
	next := m.after
	m.after = nil
	a.refs++ // the ask must outlive its last message until the vote is cast
	a.done(m)
	m.release()
	if next != nil {
		next.begin()
	}
	a.cast(master, n, err, took)
	a.release()
}

// begin does the same as start for a message that had to wait, and sets a timer for it.
func (m *message) begin() {
	m.timed = true
	m.timer.Begin(m.link.client, m.ask.timeout)
	m.start()
}

var _ cluster.Link = (*Link)(nil)
