package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"lockpick/cluster/resp"
)

// chunkSize is the number of bytes of one read. keepLimit is the number of bytes that a direction
// keeps before it stops reading, which the sender notices as a full TCP window.
const (
	chunkSize = 4 << 10
	keepLimit = 8 << 20
)

// conn is one connection of a client through a link. It connects to the master when the
// requests' direction lets the opening of the connection pass.
//
// The link's mutex guards all fields except the state of the sockets.
type conn struct {
	link     *TCPLink
	client   *net.TCPConn
	plain    side               // the client's side without TLS: client, unless the link speaks TLS
	upstream *net.TCPConn       // nil until opened
	requests pipe               // client to master
	replies  pipe               // master to client
	observer *Observer          // nil: none
	observed *resp.Conversation // nil: no observer
	asks     bool               // the link asks the master for the connection's address
	address  string             // of upstream, as the master sees it; known before the first reply is passed on; empty: not known
	unread   unread
	gone     chan struct{} // closed when the link has forgotten the connection
	removed  bool

	introduced chan struct{} // closed when the master has answered the link's own commands, or never will
	waited     time.Duration // for the delay of the handshake
}

// unread is what the observer has yet to read of the requests. Bytes go to the master first, which
// then works while the observer reads them: that costs the client less time. But the observer has
// read a request when it is given the reply.
type unread struct {
	sync.Mutex
	data []byte // in the buffer of the reader, which waits until they are read
	at   time.Time
}

// pipe is one direction of a connection, with the items that have arrived and may not go on
// yet.
//
// The goroutine that reads the direction's source delivers the items itself as long as none of
// them has to wait. Otherwise it queues them, and a second goroutine drains the queue until it
// is empty. So there is one deliverer at any time, and the order is kept.
type pipe struct {
	conn     *conn
	queue    []item
	size     int // bytes in queue
	draining bool
	poisoned bool // bytes were lost: the rest of the stream is unusable
	dead     bool // the receiver is gone: items are discarded
	ended    bool // its last item was delivered, or can never be
	wake     chan struct{}
	room     chan struct{}
}

type itemKind uint8

const (
	itemOpen  itemKind = iota // connect to the master
	itemBytes                 // data
	itemEnd                   // the sender closed its side
	itemReset                 // the sender has ended without closing its side
)

type item struct {
	kind    itemKind
	data    []byte
	arrived time.Time
	lag     time.Duration // additional delay of this item
	held    bool          // counted as held
	delayed bool          // counted as delayed
}

func newConn(l *TCPLink, client *net.TCPConn) *conn {
	c := &conn{link: l, client: client, plain: l.sideOf(client), gone: make(chan struct{}), introduced: make(chan struct{})}
	if l.observer != nil {
		c.observer, c.observed = l.observer, l.observer.follow(c)
	}
	for _, p := range []*pipe{&c.requests, &c.replies} {
		p.conn = c
		p.wake = make(chan struct{}, 1)
		p.room = make(chan struct{}, 1)
	}
	return c
}

// readRequests passes the bytes of the client to the link.
func (c *conn) readRequests() {
	defer c.link.wg.Done()
	c.requests.put(item{kind: itemOpen})
	if c.awaitHandshake() {
		c.read(c.plain, &c.requests)
	}
	if c.observed != nil { // the client has closed its side: pending commands get no reply
		c.observed.End(time.Now())
	}
	// Pass the end of the client on after its bytes, as a FIN, however the client has ended: an RST
	// could overtake requests in the master's kernel.
	c.requests.put(item{kind: itemEnd})
}

// readReplies passes the bytes of the master to the link.
func (c *conn) readReplies(upstream *net.TCPConn) {
	defer c.link.wg.Done()
	closed, passed := c.introduce(upstream)
	close(c.introduced)
	if passed {
		closed = c.read(upstream, &c.replies)
	}
	if closed {
		c.replies.put(item{kind: itemEnd})
	} else {
		c.replies.put(item{kind: itemReset})
	}
}

// read passes on all bytes that src sends. It reports whether src ended by closing its side.
func (c *conn) read(src io.Reader, p *pipe) bool {
	buf := make([]byte, chunkSize)
	first := p == &c.requests
	for {
		n, err := src.Read(buf)
		if n > 0 && first && c.link.Opening != nil {
			n = copy(buf, c.link.Opening(buf[:n]))
		}
		if n > 0 {
			first = false
			observed := c.observed != nil && p == &c.requests
			if observed {
				c.unread.Lock()
				c.unread.data, c.unread.at = buf[:n], time.Now()
				c.unread.Unlock()
			}
			p.put(item{kind: itemBytes, data: buf[:n]})
			if observed {
				c.observeRequests()
			}
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// observeRequests gives the observer the requests that it has yet to read.
func (c *conn) observeRequests() {
	u := &c.unread
	u.Lock()
	defer u.Unlock()
	if u.data != nil {
		c.observed.Request(u.data, u.at)
		u.data = nil
	}
}

// reset ends both sides of the connection with RST and loses the items that the connection kept. The
// caller holds the link's mutex.
func (c *conn) reset() {
	c.requests.lose()
	c.replies.lose()
	c.client.SetLinger(0)
	if c.upstream != nil {
		c.upstream.SetLinger(0)
	}
	c.remove()
}

// remove closes both sides and removes the connection from the link. The caller holds the link's
// mutex.
func (c *conn) remove() {
	if c.removed {
		return
	}
	c.removed = true
	close(c.gone)
	delete(c.link.conns, c)
	c.client.Close()
	if c.upstream != nil {
		c.upstream.Close()
	}
}

// mode returns the current mode of the direction. The caller holds the link's mutex.
func (p *pipe) mode() Mode {
	if p == &p.conn.requests {
		return p.conn.link.fault.Requests
	}
	return p.conn.link.fault.Replies
}

// poke wakes the goroutines that wait for this direction.
func (p *pipe) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// lose discards the items that the direction kept. The caller holds the link's mutex.
func (p *pipe) lose() {
	if len(p.queue) == 0 {
		return
	}
	p.conn.link.counts.Dropped += int64(p.size)
	p.queue, p.size = nil, 0
	p.poisoned = true
	p.makeRoom()
}

func (p *pipe) makeRoom() {
	select {
	case p.room <- struct{}{}:
	default:
	}
}

// put adds an item: the link delivers it immediately, keeps it, or loses it. put returns when there is
// room for the next item.
func (p *pipe) put(it item) {
	l := p.conn.link
	if l.Lag != nil && p == &p.conn.replies {
		it.lag = l.Lag()
	}
	l.mu.Lock()
	switch mode := p.mode(); {
	case p.conn.removed || p.dead:
		if it.kind >= itemEnd {
			p.end()
		}
		l.mu.Unlock()
		return
	case mode == Drop || p.poisoned:
		l.counts.Dropped += int64(len(it.data))
		p.poisoned = true
		l.mu.Unlock()
		return
	case !p.draining && mode == Pass && l.fault.Delay+it.lag <= 0:
		l.mu.Unlock()
		p.deliver(it)
		return
	}
	it.arrived = time.Now()
	it.data = append([]byte(nil), it.data...) // because the reader reuses its buffer
	p.queue = append(p.queue, it)
	p.size += len(it.data)
	p.mark(&p.queue[len(p.queue)-1])
	if !p.draining {
		p.draining = true
		l.wg.Add(1)
		go p.drain()
	}
	p.poke()
	for p.size > keepLimit && !p.conn.removed {
		l.mu.Unlock()
		select {
		case <-p.room:
		case <-p.conn.gone:
		}
		l.mu.Lock()
	}
	l.mu.Unlock()
}

// mark counts an item that must wait, once for each reason. The caller holds the link's mutex.
func (p *pipe) mark(it *item) {
	l := p.conn.link
	if !it.held && p.mode() == Hold {
		it.held = true
		l.counts.Held += int64(len(it.data))
	}
	if !it.delayed && l.fault.Delay > 0 {
		it.delayed = true
		l.counts.Delayed += int64(len(it.data))
	}
}

// drain delivers the queued items, each as soon as it may pass, until the queue is empty.
func (p *pipe) drain() {
	l := p.conn.link
	defer l.wg.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		l.mu.Lock()
		if len(p.queue) == 0 || p.conn.removed {
			p.draining = false
			l.mu.Unlock()
			return
		}
		held := p.mode() == Hold
		delay := l.fault.Delay + p.queue[0].lag
		wait := delay - time.Since(p.queue[0].arrived)
		if !held && (wait <= 0 || delay <= 0) {
			it := p.queue[0]
			p.queue[0] = item{}
			p.queue = p.queue[1:]
			p.size -= len(it.data)
			p.makeRoom()
			l.mu.Unlock()
			p.deliver(it)
			continue
		}
		l.mu.Unlock()
		var due <-chan time.Time // never, while held
		if !held {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-p.wake:
		case <-due:
		case <-p.conn.gone:
		}
	}
}

// deliver sends an item to the receiver. The caller holds no lock, because it may block.
func (p *pipe) deliver(it item) {
	c := p.conn
	if it.kind == itemOpen {
		c.open()
		return
	}
	l := c.link
	l.mu.Lock()
	dst, raw := c.plain, c.client
	if p == &c.requests {
		dst, raw = c.upstream, c.upstream
	}
	discard := p.dead || c.removed
	if !discard {
		// Count the bytes before sending them, so that a receiver that has them finds them counted.
		l.counts.Passed += int64(len(it.data))
	}
	l.mu.Unlock()

	var err error
	switch {
	case discard:
	case it.kind == itemBytes:
		if c.observed != nil && p == &c.replies { // before the client can react to it
			now := time.Now()
			c.observeRequests()
			c.observed.Reply(it.data, now)
		}
		_, err = dst.Write(it.data)
	case it.kind == itemEnd:
		dst.CloseWrite() // even if the receiver has gone already
	case it.kind == itemReset:
		abort(raw)
	}

	l.mu.Lock()
	switch {
	case it.kind >= itemEnd:
		p.end()
	case err != nil:
		p.dead = true
		l.counts.Passed -= int64(len(it.data))
	}
	l.mu.Unlock()
	if err != nil && p == &c.requests {
		// The connection to the master broke. The reader of the replies notices that, too, and tells
		// the client, unless the master had closed only its sending side before.
		raw.Close()
	}
}

// open connects to the master.
func (c *conn) open() {
	l := c.link
	ctx, cancel := context.WithTimeout(l.ctx, dialTimeout)
	server := l.master()
	nc, err := l.dial(ctx, server)
	cancel()
	l.starved(err)
	if err == nil && c.observer != nil {
		c.observer.Opened(nc.LocalAddr().String())
	}
	c.asks = l.Accounts != nil && l.Accounts(server)
	if introduction := c.introduction(); err == nil && introduction != "" {
		// The reader of the replies gets the answers, and notices if this write fails: a paused master
		// answers late.
		_, _ = io.WriteString(nc, introduction)
	}

	l.mu.Lock()
	if err != nil {
		c.requests.dead = true
		l.mu.Unlock()
		c.replies.put(item{kind: itemReset})
		close(c.introduced)
		return
	}
	defer l.mu.Unlock()
	upstream := nc.(*net.TCPConn)
	if c.removed {
		abort(upstream)
		return
	}
	c.upstream = upstream
	l.wg.Add(1)
	go c.readReplies(upstream)
}

// dial connects to a server. A server that was started a moment ago may refuse connections that it will accept:
// for the client, to be accepted and closed is not the same as to be refused.
func (l *TCPLink) dial(ctx context.Context, server string) (net.Conn, error) {
	for until := time.Now().Add(l.Redial); ; {
		c, err := l.Dial(ctx, server)
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(until) {
			return c, err
		}
		select {
		case <-l.ctx.Done():
			return nil, err
		case <-time.After(redialEvery):
		}
	}
}

// redialEvery is the time between two tries to connect.
const redialEvery = 10 * time.Millisecond

// end records that a direction has ended; the connection ends with the second direction. The caller
// holds the link's mutex.
func (p *pipe) end() {
	p.ended = true
	c := p.conn
	if c.requests.ended && c.replies.ended {
		c.remove()
	}
}
