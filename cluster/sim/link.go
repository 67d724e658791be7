package sim

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"lockpick/cluster"
	"lockpick/cluster/sim/world"
)

// Link is one client's link to one master, like the proxy of the real drivers. It is at the
// client's end: it cannot stop a request that has left it for the master, and it gets a reply
// only after the reply has travelled.
type Link struct {
	cluster *Cluster
	world   *world.World
	client  *world.Client
	master  *Master
	faulty  bool    // fault is not the zero value
	conns   []*conn // connections that the client considers open
	counts  cluster.LinkCounts
	fault   cluster.LinkFault
	waiting []*message // held or delayed messages, in the order of their arrival
	streams []*Stream  // streams that the client considers open
}

// conn is a connection of a client's pool. It carries one command at a time.
type conn struct {
	link     *Link
	id       int64    // its number on the master, if commands are observed
	run      int      // the start of the master's server that accepted it; 0: none has yet
	busy     *message // the message that uses it now
	poisoned bool     // a message was lost on it
	shut     bool     // the client has closed it
}

// failures are the errors that clients get about a master.
type failures struct{ silent, broken, refused, closed failure }

func failuresOf(master string) failures {
	return failures{
		silent: failure{master, os.ErrDeadlineExceeded}, broken: failure{master, syscall.ECONNRESET},
		refused: failure{master, syscall.ECONNREFUSED}, closed: failure{master, errClosed},
	}
}

// failure formats its text when it is read.
type failure struct {
	master string
	err    error
}

func (f *failure) Error() string { return f.master + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

var errClosed = errors.New("the client's connections are closed")

// Addr returns a name of the two ends, to which nothing can connect.
func (l *Link) Addr() string { return Driver + ":" + l.client.Name() + "-" + l.master.name }

// Fault returns the fault of the link.
func (l *Link) Fault() cluster.LinkFault { return l.fault }

// Counts returns the counts since the link was made.
func (l *Link) Counts() cluster.LinkCounts { return l.counts }

// Set replaces the fault. It applies to everything that is in the link at this moment, as in a
// TCPLink.
func (l *Link) Set(f cluster.LinkFault) {
	l.fault, l.faulty = f, f != (cluster.LinkFault{})
	l.client.Note(15, int64(l.master.number), modeNumber(f.Requests), modeNumber(f.Replies), int64(f.Delay), int64(bit(f.Refuse)))
	if f.Requests != cluster.Drop && f.Replies != cluster.Drop {
		for _, c := range append([]*conn(nil), l.conns...) {
			if c.poisoned {
				l.reset(c)
			}
		}
	}
	waiting := l.waiting
	l.waiting = nil
	for _, m := range waiting {
		m.waits = false
		l.world.Cancel(&m.event)
		l.pass(m)
	}
	for _, s := range slices.Clone(l.streams) {
		s.refault()
	}
}

// Reset breaks every open connection, and loses the messages that the link kept for them. A
// paused master also loses the messages that it has not read yet.
func (l *Link) Reset() {
	l.client.Note(16, int64(l.master.number))
	waiting := l.waiting
	l.waiting = nil
	for _, m := range waiting {
		m.waits = false
		l.world.Cancel(&m.event)
		l.counts.Dropped += m.size()
		m.vanish()
	}
	l.master.forget(l)
	for _, c := range append([]*conn(nil), l.conns...) {
		l.reset(c)
	}
	for _, s := range slices.Clone(l.streams) {
		s.reset()
	}
}

// reset breaks a connection, which the client learns immediately.
func (l *Link) reset(c *conn) {
	m := c.busy
	l.shut(c)
	if m != nil && !m.voted {
		m.reset = true
		if !m.travels {
			m.fail(&l.master.failures.broken)
			return
		}
		// A part of it is still in flight, so another message tells the client.
		n := l.cluster.message(m.ask, int(m.master))
		n.inPlaceOf(m)
		n.fail(&l.master.failures.broken)
	}
}

// shut closes the client's end.
func (l *Link) shut(c *conn) {
	if !c.shut {
		c.shut = true
		l.conns = remove(l.conns, c)
	}
}

// idle finds a usable connection, the latest first, as go-redis does. It discards connections
// of which the client knows that they have ended.
func (l *Link) idle() *conn {
	for i := len(l.conns) - 1; i >= 0; i-- {
		c := l.conns[i]
		if c.busy != nil {
			continue
		}
		if dead := c.run != l.master.run || l.master.state == cluster.Down; dead && l.fault.Replies == cluster.Pass {
			l.shut(c)
			continue
		}
		return c
	}
	return nil
}

// dial opens a connection, or returns the reason why that is not possible.
func (l *Link) dial() (*conn, error) {
	if l.fault.Refuse {
		l.counts.Refused++
		return nil, &l.master.failures.broken
	}
	c := &conn{link: l}
	l.conns = append(l.conns, c)
	return c, nil
}

// enter receives a message into the link.
func (l *Link) enter(m *message) {
	if !l.faulty {
		l.forward(m)
		return
	}
	m.came = l.world.Now()
	l.pass(m)
}

// pass applies the fault to a message: it forwards, keeps or loses the message.
func (l *Link) pass(m *message) {
	if !l.faulty {
		l.forward(m)
		return
	}
	f := &l.fault
	mode := f.Requests
	if m.stage >= replying {
		mode = f.Replies
	}
	if mode == cluster.Drop || m.conn.poisoned || m.stage == greeting && len(l.waiting) >= unsent {
		l.counts.Dropped += m.size()
		m.lose()
		return
	}
	if mode == cluster.Hold && !m.held {
		m.held = true
		l.counts.Held += m.size()
	}
	if f.Delay > 0 && !m.delayed {
		m.delayed = true
		l.counts.Delayed += m.size()
	}
	due := m.came + int64(f.Delay)
	if mode == cluster.Pass && (f.Delay <= 0 || due <= l.world.Now()) {
		l.forward(m)
		return
	}
	m.waits = true
	l.waiting = append(l.waiting, m)
	if mode == cluster.Pass {
		l.world.At(due, &m.event)
	}
}

// forward lets a message continue: a request to the master, a reply to the client.
func (l *Link) forward(m *message) {
	l.counts.Passed += m.size()
	m.held, m.delayed = false, false
	if m.stage >= replying {
		m.arrive()
		return
	}
	c := l.cluster
	if c.steady {
		l.world.After(c.latency(), &m.event)
		return
	}
	if c.world.Chance(c.options.Loss, world.WhatLoss) {
		m.conn.poisoned = true
		m.vanish()
		return
	}
	d := c.latency()
	if c.world.Chance(c.options.Late, world.WhatLate) {
		d += c.world.UpTo(c.options.LateBy, world.WhatLate)
	}
	if m.stage == asking && c.world.Chance(c.options.Duplicate, world.WhatTwice) {
		twice := c.message(m.ask, int(m.master))
		twice.copyOf(m)
		c.world.After(d+c.latency(), &twice.event)
	}
	c.world.After(d, &m.event)
}

// deliver is called at the end of a message's delay.
func (l *Link) deliver(m *message) {
	m.waits = false
	l.waiting = remove(l.waiting, m)
	l.forward(m)
}

// remove removes x and keeps the order of the other elements.
func remove[T comparable](from []T, x T) []T {
	for i := range from {
		if from[i] == x {
			return append(from[:i], from[i+1:]...)
		}
	}
	return from
}
