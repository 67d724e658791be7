package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// TCPLink is one client's link to one master: a TCP proxy with faults.
//
// It handles a sequence of items per connection and direction, and not packets: the opening of
// the connection, chunks of bytes, and its end. A fault treats all items alike. So a client
// behind a partition does not learn that the master was killed. If a client gives up on a
// request and closes the connection, the link still delivers the request when the partition
// heals, in order and followed by the end.
type TCPLink struct {
	LinkOptions
	master func() string   // the master's current address; empty: no server listens
	ctx    context.Context // ends when the link is closed
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	ln       net.Listener // nil: it does not listen now
	addr     string
	fault    LinkFault
	counts   LinkCounts
	conns    map[*conn]struct{}
	observer *Observer // of new connections; nil: none
}

// dialTimeout bounds how long a link tries to connect to its master. On one machine an answer
// or a refusal is immediate; only a full backlog takes longer.
const dialTimeout = 3 * time.Second

// LinkOptions are what a link may do beside forwarding.
type LinkOptions struct {
	Own      bool                        // only processes of this user and of root may use it
	Dial     Dialer                      // connects to the master: Dial or DialOwn; nil: Dial
	User     string                      // whom the link logs in as: the master refuses this user the commands of Refused; empty: the default user, who may send them
	Password string                      // the link authenticates each connection with it, so that clients need not know it; empty: none
	LogsOut  bool                        // after its own commands it logs out (RESET), so that clients have to log in
	TLS      *tls.Config                 // clients must speak TLS with the link, which ends it; nil: they must not
	Lag      func() time.Duration        // delay of each chunk of replies; nil: none
	Port     int                         // the port of 127.0.0.1 to listen on; 0: any free one
	Route    func(*net.TCPConn) *TCPLink // the link that forwards an accepted connection, nil: none does, and it is closed; not set: this one
	Deaf     bool                        // does not listen: it gets its connections by Serve, or listens later
	Redial   time.Duration               // how long it dials a server again that refuses connections; 0: once
	Opening  func(first []byte) []byte   // changes the first bytes of the requests of each connection, at most 4 KiB; nil: nothing
	Accounts func(server string) bool    // whether the server at an address gives an account (see Accountable) and is asked for the address of each connection; nil: none is
}

// NewLink listens on a port of 127.0.0.1 and forwards to the master.
func NewLink(master func() string, o LinkOptions) (*TCPLink, error) {
	if o.Dial == nil {
		o.Dial = Dial
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &TCPLink{LinkOptions: o, master: master, ctx: ctx, cancel: cancel, conns: map[*conn]struct{}{}}
	l.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port))
	if o.Deaf {
		return l, nil
	}
	if err := l.Listen(); err != nil {
		return nil, fmt.Errorf("open a link to %s: %w", master(), err)
	}
	return l, nil
}

func (l *TCPLink) Addr() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addr
}

// Listen makes a link accept connections that does not. Hush ends that, so that a client is refused as by a
// server that is down: open connections stay. A link that was made to listen keeps its address.
func (l *TCPLink) Listen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ln != nil || l.ctx.Err() != nil {
		return nil
	}
	ln, err := listen(l.addr)
	if err != nil {
		return fmt.Errorf("listen on 127.0.0.1: %w", err)
	}
	l.ln, l.addr = ln, ln.Addr().String()
	l.wg.Add(1)
	go l.accept(ln)
	return nil
}

// portWait is the longest wait for a port that is in use. A child process has a copy of each socket of this process from its
// fork until its exec, so a port may stay in use for a moment after its listener was closed.
const portWait = time.Second

// listen listens at an address, and retries while the port is in use.
func listen(addr string) (net.Listener, error) {
	for began := time.Now(); ; time.Sleep(portWait / 100) {
		ln, err := net.Listen("tcp", addr)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Since(began) > portWait {
			return ln, err
		}
	}
}

// Hush ends what Listen begins.
func (l *TCPLink) Hush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ln != nil {
		l.ln.Close()
		l.ln = nil
	}
}

// Serve forwards a connection that another listener has accepted.
func (l *TCPLink) Serve(client *net.TCPConn) { l.admit(client) }

func (l *TCPLink) Fault() LinkFault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

func (l *TCPLink) Counts() LinkCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// Set replaces the fault. It applies to all items that are in the link at this moment: a
// direction that drops loses them, one that passes delivers them, and after a change of the
// delay they wait from the time of their own arrival.
func (l *TCPLink) Set(f LinkFault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
	dropping := f.Requests == Drop || f.Replies == Drop
	for c := range l.conns {
		if !dropping && (c.requests.poisoned || c.replies.poisoned) {
			c.reset()
			continue
		}
		for _, p := range []*pipe{&c.requests, &c.replies} {
			if p.mode() == Drop {
				p.lose()
			}
			for i := range p.queue {
				p.mark(&p.queue[i])
			}
			p.poke()
		}
	}
}

// Reset ends every open connection with RST. Bytes that the link still kept for them are lost.
func (l *TCPLink) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.reset()
	}
}

// Close ends the link and its goroutines.
func (l *TCPLink) Close() {
	l.cancel()
	l.Hush()
	l.Reset()
	l.wg.Wait()
}

func (l *TCPLink) accept(ln net.Listener) {
	defer l.wg.Done()
	for {
		nc, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			l.starved(err)
			// There are no free file descriptors, or the client has closed the connection
			// before it was accepted. Neither ends the link; waiting avoids a busy loop in the
			// first case.
			select {
			case <-l.ctx.Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
			continue
		}
		l.admit(nc.(*net.TCPConn))
	}
}

// starved counts a connection that failed because there was no free file descriptor.
func (l *TCPLink) starved(err error) {
	if NoDescriptors(err) {
		l.mu.Lock()
		l.counts.Starved++
		l.mu.Unlock()
	}
}

// NoDescriptors reports whether an error says that this process, or the machine, has no file
// descriptor left.
func NoDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// admit accepts a client's new connection, or refuses it.
func (l *TCPLink) admit(client *net.TCPConn) {
	stranger := l.Own && fromStranger(client)
	if l.Route != nil && !stranger {
		if to := l.Route(client); to != nil {
			to.Serve(client)
			return
		}
		abort(client)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if stranger {
		l.counts.Strangers++
		abort(client)
		return
	}
	if l.fault.Refuse || l.ctx.Err() != nil {
		if l.fault.Refuse {
			l.counts.Refused++
		}
		abort(client)
		return
	}
	c := newConn(l, client)
	l.conns[c] = struct{}{}
	l.wg.Add(1)
	go c.readRequests()
}

// abort closes a connection by RST.
func abort(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}
