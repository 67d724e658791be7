package watch

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"lockpick/cluster/resp"
)

// Direction is one of a connection's two directions.
type Direction uint8

// The directions.
const (
	Requests Direction = iota
	Replies
)

// maxQueued is the maximum number of bytes in the queue.
const maxQueued = 64 << 20

// gather is the time that the reader sleeps before it drains the queue again. It is so short that the
// reader's bursts hardly delay connections on few processors (with 5 ms, the 99th percentile was
// 0.3 ms later).
const gather = time.Millisecond

// quiet is the time for which a connection must be silent before the tap follows it again after it
// dropped copies: then no command is in flight.
const quiet = 50 * time.Millisecond

// Missed counts the bytes and connections that the tap did not read.
type Missed struct {
	Bytes       int64 `json:"bytes"`       // dropped because the reader was behind
	Gaps        int   `json:"gaps"`        // times at which the tap began to drop a connection's copies
	Connections int   `json:"connections"` // connections that could not be followed for another reason
}

// Tap queues copies of all connections' bytes and reads them in its own goroutine.
type Tap struct {
	read   func(func(*Lint)) // runs a function with the lint, under a mutex
	ready  chan struct{}
	done   chan struct{}
	closed chan struct{}

	mu       sync.Mutex
	queue    []chunk
	queued   int
	limit    int
	missed   Missed
	conns    int64
	open     int
	problems map[string]int
}

// chunk is a copy of bytes, or the end of a connection.
type chunk struct {
	stream    *Stream
	direction Direction
	bytes     []byte
	at        time.Time
	gap       bool // copies before this one were dropped
	end       bool
}

// Stream is one connection.
type Stream struct {
	tap    *Tap
	id     int64
	master int

	// Used by the writers, under the tap's mutex.
	gap  bool
	last time.Time

	// Used by the reader.
	conversation *resp.Conversation
}

// NewTap starts a goroutine that reads copies for a lint.
func NewTap(l *Lint) *Tap {
	var alone sync.Mutex
	t := &Tap{ready: make(chan struct{}, 1), done: make(chan struct{}), closed: make(chan struct{}), limit: maxQueued, problems: map[string]int{}}
	t.read = func(f func(*Lint)) {
		alone.Lock()
		defer alone.Unlock()
		f(l)
	}
	go t.run()
	return t
}

// Open registers a new connection to a master.
func (t *Tap) Open(master int) *Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns++
	t.open++
	return &Stream{tap: t, id: t.conns, master: master}
}

// Close queues the end of a connection.
func (s *Stream) Close() {
	s.tap.mu.Lock()
	s.tap.open--
	s.tap.queue = append(s.tap.queue, chunk{stream: s, at: time.Now(), end: true})
	s.tap.mu.Unlock()
	s.tap.wake()
}

// add queues a copy, unless the queue is full or the connection has a gap that has not ended.
func (s *Stream) add(d Direction, b []byte) {
	t := s.tap
	at := time.Now()
	t.mu.Lock()
	if t.queued+len(b) > t.limit || s.gap && (at.Sub(s.last) < quiet || d != Requests) {
		t.missed.Bytes += int64(len(b))
		if !s.gap {
			t.missed.Gaps++
		}
		s.gap, s.last = true, at
		t.mu.Unlock()
		return
	}
	gap := s.gap
	s.gap = false
	t.queued += len(b)
	t.queue = append(t.queue, chunk{stream: s, direction: d, bytes: bytes.Clone(b), at: at, gap: gap})
	t.mu.Unlock()
}

// wake makes the reader drain the queue.
func (t *Tap) wake() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// Problem notes a problem for the user.
func (t *Tap) Problem(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.problems) < 20 || t.problems[text] > 0 {
		t.problems[text]++
	}
}

// Read runs a function with the lint, while nothing else uses it.
func (t *Tap) Read(f func(*Lint)) { t.read(f) }

// Status returns what was missed, the number of connections so far and of open ones, and the
// problems with how often each occurred.
func (t *Tap) Status() (m Missed, conns int64, open int, problems []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for text, n := range t.problems {
		if n > 1 {
			text = fmt.Sprintf("%s (%d times)", text, n)
		}
		problems = append(problems, text)
	}
	return t.missed, t.conns, t.open, problems
}

// Close drains the queue and ends the reader. The caller must close all connections first.
func (t *Tap) Close() {
	close(t.done)
	<-t.closed
}

func (t *Tap) run() {
	defer close(t.closed)
	for {
		select {
		case <-t.ready:
			t.drain()
			select { // wait for more copies: larger batches take less processor time from the connections
			case <-time.After(gather):
			case <-t.done:
			}
		case <-t.done:
			t.drain()
			return
		}
	}
}

// drain reads the queue until it is empty.
func (t *Tap) drain() {
	for {
		t.mu.Lock()
		queue := t.queue
		t.queue = nil
		t.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for len(queue) > 0 { // in batches, so that a caller of Read need not wait for the whole queue
			part := queue[:min(len(queue), 256)]
			queue = queue[len(part):]
			n := 0
			t.read(func(l *Lint) {
				for i := range part {
					n += len(part[i].bytes)
					t.follow(l, &part[i])
					part[i].bytes = nil
				}
			})
			t.mu.Lock()
			t.queued -= n
			t.mu.Unlock()
		}
	}
}

// follow processes one chunk.
func (t *Tap) follow(l *Lint, c *chunk) {
	s := c.stream
	if c.gap { // discard the conversation so far: pending commands get no reply
		s.conversation = nil
		if len(c.bytes) == 0 || c.bytes[0] != '*' {
			t.mu.Lock()
			s.gap = true
			t.mu.Unlock()
			return
		}
	}
	if s.conversation == nil {
		s.conversation = &resp.Conversation{
			Keep: func(name []byte, args []resp.Value) bool { return l.wants(name, args) },
			Tell: func(x resp.Exchange) { l.exchange(s.master, s.id, x) },
			Lost: func(why error) {
				t.mu.Lock()
				t.missed.Connections++
				t.mu.Unlock()
				t.Problem(fmt.Sprintf("a connection could not be followed: %v", why))
			},
		}
	}
	switch {
	case c.end:
		s.conversation.End(c.at)
		l.closed(s.id)
	case c.direction == Requests:
		s.conversation.Request(c.bytes, c.at)
	default:
		s.conversation.Reply(c.bytes, c.at)
	}
}
