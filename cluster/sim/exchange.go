package sim

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// Exchange is one command that a client has sent over a stream, and its reply.
type Exchange struct {
	Words   []string
	Reply   string        // in the encoding of the protocol
	Err     error         // the connection ended without a reply
	Changed bool          // the command changed keys
	Took    time.Duration // from sending the command to the reply
}

// exchanges records the commands of one stream.
type exchanges struct {
	sent     []byte // bytes after the last complete command
	received []byte // bytes after the last complete reply
	pending  []unanswered
	executed int // number of pending commands that the master has executed
	done     []Exchange
	lost     bool // the replies can no longer be matched with the commands
}

type unanswered struct {
	words   []string
	at      int64
	changed bool
}

// Watch records the stream's commands from now on.
func (s *Stream) Watch() { s.watched = &exchanges{} }

// Exchanged returns the commands that have ended since the last call.
func (s *Stream) Exchanged() []Exchange {
	if s.watched == nil {
		return nil
	}
	done := s.watched.done
	s.watched.done = nil
	return done
}

// noteRequest records bytes that the client sends.
func (e *exchanges) noteRequest(b []byte, now int64) {
	if e == nil || e.lost {
		return
	}
	e.sent = append(e.sent, b...)
	for len(e.sent) > 0 {
		words, n, problem := parseCommand(e.sent)
		if problem != "" {
			e.lost = true
			return
		}
		if n == 0 {
			return
		}
		e.sent = e.sent[n:]
		if len(words) > 0 {
			e.pending = append(e.pending, unanswered{words: words, at: now})
		}
	}
}

// execute records whether the next command changed keys.
func (e *exchanges) execute(changed bool) {
	if e == nil || e.executed >= len(e.pending) {
		return
	}
	e.pending[e.executed].changed = changed
	e.executed++
}

// noteReply records bytes that the client receives.
func (e *exchanges) noteReply(b []byte, now int64) {
	if e == nil || e.lost {
		return
	}
	e.received = append(e.received, b...)
	for len(e.received) > 0 {
		n := replyLength(e.received)
		if n == 0 {
			return
		}
		reply := e.received[:n]
		e.received = e.received[n:]
		if reply[0] == '>' {
			continue // a push, which is not a reply to a command
		}
		if len(e.pending) == 0 {
			e.lost = true
			return
		}
		e.end(string(reply), nil, now)
	}
}

func (e *exchanges) end(reply string, err error, now int64) {
	p := e.pending[0]
	e.pending = e.pending[1:]
	e.executed = max(e.executed-1, 0)
	e.done = append(e.done, Exchange{Words: p.words, Reply: reply, Err: err, Changed: p.changed, Took: time.Duration(now - p.at)})
}

// hangUp is called at the end of the connection: pending commands get no reply.
func (e *exchanges) hangUp(now int64) {
	for e != nil && len(e.pending) > 0 {
		e.end("", os.ErrDeadlineExceeded, now)
	}
}

// replyLength returns the length of the first reply in bytes; 0: the reply is not complete.
func replyLength(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 1 {
		return 0
	}
	n, items := i+1, 0
	size, _ := strconv.Atoi(string(bytes.TrimSuffix(b[1:i], []byte("\r"))))
	switch b[0] {
	case '$', '=', '!':
		if size >= 0 {
			n += size + 2
		}
	case '*', '~', '>':
		items = size
	case '%':
		items = 2 * size
	}
	for range items {
		m := 0
		if n < len(b) {
			m = replyLength(b[n:])
		}
		if m == 0 {
			return 0
		}
		n += m
	}
	if n > len(b) {
		return 0
	}
	return n
}
