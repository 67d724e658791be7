package sim

import (
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/resp"
	"lockpick/cluster/sim/world"
)

// exchanges records the commands of one stream.
type exchanges struct {
	stream   *Stream
	sent     []byte // bytes after the last complete command
	pending  []exchange
	executed int   // number of pending commands that the master has executed
	answered int   // number of these to which it has written a reply
	written  int64 // bytes of all replies and messages that the master has sent
	arrived  int64 // bytes of these that the client has received
	done     []cluster.Exchange
	lost     bool // the client sends what is not a command
}

// exchange is one whose reply has not arrived.
type exchange struct {
	cluster.Exchange
	end int64 // the position of the end of its reply among all bytes that the master sends
}

// Watch records the stream's commands from now on.
func (s *Stream) Watch() {
	if s.link.cluster.observer == nil {
		_ = s.link.cluster.Account(func(int, cluster.Executed) {})
	}
	s.watched = &exchanges{stream: s}
}

// Exchanged returns the commands that have ended since the last call.
func (s *Stream) Exchanged() []cluster.Exchange {
	if s.watched == nil {
		return nil
	}
	done := s.watched.done
	s.watched.done = nil
	return done
}

func (e *exchanges) now() time.Time { return world.Epoch.Add(time.Duration(e.stream.world.Now())) }

// send records bytes that the client sends.
func (e *exchanges) send(b []byte) {
	if e == nil || e.lost {
		return
	}
	e.sent = append(e.sent, b...)
	for len(e.sent) > 0 {
		words, n, problem := parseCommand(e.sent)
		if e.lost = problem != ""; e.lost || n == 0 {
			return
		}
		e.sent = e.sent[n:]
		if len(words) > 0 {
			e.pending = append(e.pending, exchange{Exchange: cluster.Exchange{Args: words, Sent: e.now(), Accounted: true}})
		}
	}
}

// execute records that the master has executed the next command.
func (e *exchanges) execute(conn int64, changes []cluster.Change) {
	if e == nil || e.executed >= len(e.pending) {
		return
	}
	x := &e.pending[e.executed]
	x.Conn, x.Executed, x.Changes = connName(conn), true, changes
	e.executed++
}

// reply records that the master has appended the reply to the next command to its output.
func (e *exchanges) reply(output []byte, from int) {
	if e == nil || e.answered >= e.executed {
		return
	}
	x := &e.pending[e.answered]
	x.Replied, x.Queued = true, string(output[from:]) == "+QUEUED\r\n"
	x.Reply = resp.ReplyOf(output[from:])
	if text := output[from:]; len(text) > 0 && text[0] == '-' {
		x.Error = strings.TrimSpace(string(text[1:]))
	}
	x.end = e.written + int64(len(output))
	e.answered++
}

// write records that the master sends bytes.
func (e *exchanges) write(n int) {
	if e != nil {
		e.written += int64(n)
	}
}

// receive records bytes that the client receives.
func (e *exchanges) receive(n int) {
	if e == nil {
		return
	}
	e.arrived += int64(n)
	for e.answered > 0 && e.pending[0].end <= e.arrived {
		e.end()
	}
}

// end ends the oldest exchange.
func (e *exchanges) end() {
	x := e.pending[0].Exchange
	x.Answered = e.now()
	e.pending = e.pending[1:]
	e.executed, e.answered = max(e.executed-1, 0), max(e.answered-1, 0)
	e.done = append(e.done, x)
}

// hangUp is called at the end of the connection: pending commands get no reply.
func (e *exchanges) hangUp() {
	for e != nil && len(e.pending) > 0 {
		e.pending[0].Replied, e.pending[0].Error, e.pending[0].Reply = false, "", nil
		e.end()
	}
}
