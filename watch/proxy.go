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

// dialTimeout is the timeout for connecting to a Redis.
const dialTimeout = 10 * time.Second

// NewProxy starts a proxy that listens for clients. master is the number of the target, from 0.
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

// Close closes all connections and waits until all goroutines have ended.
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
		if err != nil { // a temporary error, such as too many open files
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

// enter registers an open connection. It returns false if the proxy is closing.
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

// buffers holds the buffers that forward reads into.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// forward copies one direction until it ends. If the sender closes its half, forward closes the
// receiver's half, so that the other direction continues. Any error resets both connections.
func forward(from, to net.Conn, s *Stream, d Direction) {
	b := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(b)
	for {
		n, err := from.Read(b[:])
		if n > 0 {
			// Queue the copy before sending the bytes, so that a command is always queued before
			// its reply. Wake the reader only after that, so that it does not delay the bytes.
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

// reset closes a connection with a TCP reset, so that its peer sees an error.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	c.Close()
}
