package watch

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"lockpick/cluster/resp"
)

// Direction is one of a connection's two.
type Direction uint8

const (
	Requests Direction = iota
	Replies
)

// maxQueued bounds the bytes of copies that wait to be read.
const maxQueued = 64 << 20

// gather is for how long the reader rests between two looks at the queue: so short that its bursts
// hardly delay connections where processors are few (with 5 ms the 99th percentile was 0.3 ms later).
const gather = time.Millisecond

// quiet is how long a connection must be silent before the tap follows it again after it has
// dropped copies: then no command waits for its reply.
const quiet = 50 * time.Millisecond

// Missed counts what the tap has not read.
type Missed struct {
	Bytes       int64 `json:"bytes"`       // dropped because the reader was behind
	Gaps        int   `json:"gaps"`        // of connections whose copies were dropped
	Connections int   `json:"connections"` // that could not be followed, for another reason
}

// Tap queues copies of all connections' bytes and reads them in a goroutine of its own.
type Tap struct {
	read   func(func(*Lint)) // runs a function with the lint, alone
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

	// Of the writers, under the tap's mutex.
	gap  bool
	last time.Time

	// Of the reader.
	conversation *resp.Conversation
}

// NewTap starts to read copies for a lint.
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

// Open begins a connection.
func (t *Tap) Open(master int) *Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns++
	t.open++
	return &Stream{tap: t, id: t.conns, master: master}
}

// Close ends a connection.
func (s *Stream) Close() {
	s.tap.mu.Lock()
	s.tap.open--
	s.tap.queue = append(s.tap.queue, chunk{stream: s, at: time.Now(), end: true})
	s.tap.mu.Unlock()
	s.tap.wake()
}

// add queues a copy, unless too much is queued already.
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

// wake makes the reader look at the queue.
func (t *Tap) wake() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// Problem notes something that a person should know.
func (t *Tap) Problem(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.problems) < 20 || t.problems[text] > 0 {
		t.problems[text]++
	}
}

// Read runs a function with the lint, while nothing else uses it.
func (t *Tap) Read(f func(*Lint)) { t.read(f) }

// Status returns what was missed, the number of connections so far and now, and problems with
// how often each occurred.
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

// Close reads what is queued and ends the reader. No connection may be open any more.
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
			select { // more comes together then, and the reader takes less time from the connections
			case <-time.After(gather):
			case <-t.done:
			}
		case <-t.done:
			t.drain()
			return
		}
	}
}

// drain reads what is queued.
func (t *Tap) drain() {
	for {
		t.mu.Lock()
		queue := t.queue
		t.queue = nil
		t.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for len(queue) > 0 { // in parts, so that a caller of Read need not wait for all
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

// follow reads one chunk.
func (t *Tap) follow(l *Lint, c *chunk) {
	s := c.stream
	if c.gap { // what is read so far ends, without replies that are known
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
