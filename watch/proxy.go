package watch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Target is one Redis and the address at which clients reach it through a proxy.
type Target struct {
	Listen string
	To     string
	TLS    *tls.Config // for the connections to Redis; nil: none
}

// Proxy forwards connections to one Redis, and gives copies of their bytes to a tap.
type Proxy struct {
	master int
	target Target
	tap    *Tap
	ln     net.Listener
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// dialTimeout bounds how long a client waits for a Redis that does not answer.
const dialTimeout = 10 * time.Second

// NewProxy listens for clients. master numbers the targets from 0.
func NewProxy(master int, target Target, tap *Tap) (*Proxy, error) {
	ln, err := net.Listen("tcp", target.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for clients on %s: %w", target.Listen, err)
	}
	p := &Proxy{master: master, target: target, tap: tap, ln: ln, conns: map[net.Conn]struct{}{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.wg.Add(1)
	go p.accept()
	return p, nil
}

// Addr returns the address at which clients reach the Redis.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Close ends all connections, and returns when nothing runs any more.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.ln.Close()
	p.mu.Lock()
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return err
}

func (p *Proxy) accept() {
	defer p.wg.Done()
	for {
		c, err := p.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files: it passes
			select {
			case <-p.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
				continue
			}
		}
		p.wg.Add(1)
		go func() {
			defer p.wg.Done()
			p.serve(c)
		}()
	}
}

// enter notes an open connection. It returns false if the proxy is closing.
func (p *Proxy) enter(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) leave(c net.Conn) {
	c.Close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

func (p *Proxy) serve(client net.Conn) {
	defer p.leave(client)
	if !p.enter(client) {
		return
	}
	server, err := p.dial()
	if err != nil {
		p.tap.Problem(fmt.Sprintf("a client could not be connected: %v", err))
		reset(client)
		return
	}
	defer p.leave(server)
	if !p.enter(server) {
		return
	}
	s := p.tap.Open(p.master)
	defer s.Close()
	var both sync.WaitGroup
	both.Add(1)
	go func() {
		defer both.Done()
		forward(server, client, s, Replies)
	}()
	forward(client, server, s, Requests)
	both.Wait()
}

func (p *Proxy) dial() (net.Conn, error) {
	d := &net.Dialer{Timeout: dialTimeout}
	if p.target.TLS == nil {
		return d.DialContext(p.ctx, "tcp", p.target.To)
	}
	ctx, cancel := context.WithTimeout(p.ctx, dialTimeout)
	defer cancel()
	return (&tls.Dialer{NetDialer: d, Config: p.target.TLS}).DialContext(ctx, "tcp", p.target.To)
}

// buffers are what forward reads into.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// forward passes one direction on until it ends. An orderly end is passed on as one, so that the
// other direction goes on; anything else resets both connections.
func forward(from, to net.Conn, s *Stream, d Direction) {
	b := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(b)
	for {
		n, err := from.Read(b[:])
		if n > 0 {
			// The copy is queued before the bytes are sent, so that a command always stands
			// before its reply. The reader is woken after that.
			s.add(d, b[:n])
			_, failed := to.Write(b[:n])
			s.tap.wake()
			if failed != nil {
				err = failed
			}
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			if c, ok := to.(interface{ CloseWrite() error }); ok && c.CloseWrite() == nil {
				return
			}
		}
		reset(from)
		reset(to)
		return
	}
}

// reset closes a connection so that its peer sees an error, not an orderly end.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	c.Close()
}
