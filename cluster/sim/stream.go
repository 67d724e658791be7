package sim

import (
	"io"
	"syscall"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim/world"
)

// Stream is a connection that carries bytes, for clients that are goroutines and speak Redis's
// protocol. Requests first pass the link at the client's end and then the network; replies
// take the opposite way. Bytes of one direction never overtake each other.
//
// Except for NewStream, all callers use it through Live.Call.
type Stream struct {
	link     *Link
	world    *world.World
	run      int  // the start of the master's server that serves it; 0: none yet
	shut     bool // the client has closed it, or it was reset
	poisoned bool // some of its bytes were lost

	requests, replies flow

	unread   []byte // bytes at the master's host that the server has not read yet
	waiting  bool   // the stream is in the master's queue or backlog
	blocked  bool   // a command such as WAIT or BLPOP has no reply yet
	finished bool   // the master's host knows that the client has closed it
	resume   world.Event
	session  session
	watched  *exchanges // nil: no observer

	received []byte // bytes at the client's host
	ended    error  // the error that the client reads after these bytes; nil: more bytes may come
	wake     func() // wakes the client's reader; called after each change
}

// Open opens a connection through the link. It calls wake when there is something new to read.
// The error says that the connection was refused.
func (l *Link) Open(wake func()) (*Stream, error) {
	switch {
	case l.cluster.closed:
		return nil, &l.master.failures.closed
	case l.fault.Refuse:
		l.counts.Refused++
		return nil, &l.master.failures.refused
	case l.master.state == cluster.Down && l.fault.Requests == cluster.Pass && l.fault.Replies == cluster.Pass:
		return nil, &l.master.failures.refused
	}
	s := &Stream{link: l, world: l.world, wake: wake}
	s.requests = flow{stream: s}
	s.replies = flow{stream: s, toClient: true}
	for _, f := range []*flow{&s.requests, &s.replies} {
		f.gateTurn.Do, f.wireTurn.Do = (*gateTurn)(f), (*wireTurn)(f)
	}
	s.resume.Do = (*resumption)(s)
	if l.master.state != cluster.Down {
		s.run = l.master.run
	}
	l.streams = append(l.streams, s)
	return s, nil
}

// Send sends the client's bytes. The error says that the connection has ended.
func (s *Stream) Send(b []byte) error {
	if s.shut {
		return &s.link.master.failures.broken
	}
	s.watched.send(b)
	s.requests.enterGate(chunk{bytes: append([]byte(nil), b...)})
	return nil
}

// Receive returns the bytes that have arrived. It returns 0 and nil if there is nothing to
// read yet.
func (s *Stream) Receive(b []byte) (int, error) {
	if n := copy(b, s.received); n > 0 {
		if s.received = s.received[n:]; len(s.received) == 0 {
			s.received = nil
		}
		return n, nil
	}
	return 0, s.ended
}

// Hangup closes the client's end. Bytes that the client has sent continue.
func (s *Stream) Hangup() {
	if !s.shut { // the master learns it later, and may meanwhile give a waiting connection what nobody receives
		s.requests.enterGate(chunk{end: io.EOF})
	}
	s.end(&s.link.master.failures.closed)
}

// end ends the connection for the client.
func (s *Stream) end(err error) {
	if s.shut {
		return
	}
	s.shut = true
	s.watched.hangUp()
	s.forget()
	if s.ended == nil {
		s.ended = err
	}
	s.session.end(s)
	s.wake()
}

// forget removes the stream from its link when the link keeps no more bytes for the master.
func (s *Stream) forget() {
	if s.shut && len(s.requests.gate) == 0 {
		s.link.streams = remove(s.link.streams, s)
	}
}

// reset breaks the connection, and loses the bytes on it.
func (s *Stream) reset() {
	s.link.counts.Dropped += s.requests.lose() + s.replies.lose()
	s.unread, s.received, s.ended = nil, nil, nil
	s.link.master.waiting.leave(s)
	s.end(&s.link.master.failures.broken)
}

// refault applies the new fault of the link to the bytes in it.
func (s *Stream) refault() {
	f := &s.link.fault
	if s.poisoned && f.Requests != cluster.Drop && f.Replies != cluster.Drop {
		s.reset()
		return
	}
	s.requests.pump()
	s.replies.pump()
}

// arrive is called when bytes reach the client's host.
func (s *Stream) arrive(c chunk) {
	if s.shut {
		return
	}
	s.received = append(s.received, c.bytes...)
	s.watched.receive(len(c.bytes))
	if c.end != nil {
		s.end(c.end)
		return
	}
	s.wake()
}

// reach is called when bytes reach the master's host.
func (s *Stream) reach(c chunk) {
	m := s.link.master
	if m.state == cluster.Down {
		s.broken()
		return
	}
	s.unread, s.finished = append(s.unread, c.bytes...), c.end != nil
	if !s.waiting {
		m.receive(s)
	}
}

// serve makes the server read the bytes that have arrived.
func (s *Stream) serve(m *Master) {
	s.waiting = false
	if s.run == 0 {
		s.run = m.run
	}
	if s.run != m.run { // the connection ended with an earlier start of the server
		s.broken()
		return
	}
	s.session.input = append(s.session.input, s.unread...)
	s.unread = s.unread[:0]
	s.carryOut(m)
	if s.finished {
		m.waiting.leave(s)
	}
}

// carryOut executes all commands that have arrived, and sends the replies once the server has
// written their changes.
func (s *Stream) carryOut(m *Master) {
	later := s.session.proceed(s, m)
	wait := m.settle()
	if m.state == cluster.Down { // the server could not write, and has ended
		return
	}
	s.reply(m, wait)
	switch {
	case s.session.closing:
		s.close(m, wait)
	case later > 0:
		s.blocked = true
		s.world.After(later, &s.resume)
	case later < 0: // the reply never comes
		s.blocked = true
	}
}

// reply sends the session's output after a time.
func (s *Stream) reply(m *Master, wait time.Duration) {
	if len(s.session.output) == 0 {
		return
	}
	c := chunk{bytes: s.session.output}
	s.watched.write(len(c.bytes))
	s.session.output = nil
	if wait > 0 {
		c.leaves = s.world.Now() + int64(wait)
	}
	s.replies.enterWire(c, wait)
}

// resumption is the event at the end of a command that had to wait.
type resumption Stream

func (r *resumption) Fire() {
	s := (*Stream)(r)
	m := s.link.master
	if s.shut || s.run != m.run || m.state == cluster.Down {
		return
	}
	s.blocked = false
	s.session.unblock(s.watched)
	if !s.waiting {
		m.receive(s)
	}
}

// broken notifies the client that the server has ended.
func (s *Stream) broken() {
	s.waiting, s.unread = false, nil
	s.replies.enterWire(chunk{end: syscall.ECONNRESET}, 0)
}

// vanish loses the bytes that the server has not read.
func (s *Stream) vanish() { s.waiting, s.unread = false, nil }

// serverGone is called at the end of the server: its host closes the connection.
func (s *Stream) serverGone() {
	s.unread = nil
	s.session.end(s)
	s.replies.enterWire(chunk{end: io.EOF}, 0)
}

// close makes the server end the connection after a time: whatever the client sends from now on finds none.
func (s *Stream) close(m *Master, wait time.Duration) {
	s.run = -1
	m.waiting.leave(s)
	s.unread, s.session.input = nil, nil
	s.session.end(s)
	s.replies.enterWire(chunk{end: io.EOF}, wait)
}

func (s *Stream) via() *Link { return s.link }

// Peek reports whether there are bytes to read, and whether the connection has ended after
// them.
func (s *Stream) Peek() (bytes, ended bool) { return len(s.received) > 0, s.ended != nil }
