package cluster

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// A link with TLS ends it: the client speaks TLS with the link, and the link speaks plain Redis with the master, on this
// machine. So the link sees what it forwards, with TLS and without, and votes, answers and connections are as well known. A
// fault hits whole messages, as it does without TLS.
//
// A master that is stopped or unreachable answers no handshake. So the link begins it once the master has answered the link's own commands,
// and while no fault holds back bytes.

// side is the client's side of a connection.
type side interface {
	io.ReadWriter
	CloseWrite() error
}

// encrypted is the side of a client that speaks TLS.
type encrypted struct {
	*tls.Conn
	client *net.TCPConn
}

func (e encrypted) CloseWrite() error {
	return errors.Join(e.Conn.CloseWrite(), e.client.CloseWrite())
}

// sideOf returns the client's side of a connection.
func (l *TCPLink) sideOf(client *net.TCPConn) side {
	if l.TLS == nil {
		return client
	}
	return encrypted{tls.Server(client, l.TLS), client}
}

// handshakeEvery is the time between two looks whether a fault still holds back a handshake.
const handshakeEvery = 5 * time.Millisecond

// awaitHandshake waits until the handshake with the client may begin. It returns false if the connection ends before.
func (c *conn) awaitHandshake() bool {
	if c.link.TLS == nil {
		return true
	}
	select {
	case <-c.introduced:
	case <-c.gone:
		return false
	}
	for wait := c.withheld(); wait > 0; wait = c.withheld() {
		select {
		case <-time.After(wait):
		case <-c.gone:
			return false
		}
	}
	return true
}

// withheld returns how long a fault holds back the handshake at least; 0: no longer. A fault that drops bytes poisons the connection,
// as it does with a client that has sent some.
func (c *conn) withheld() time.Duration {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	c.requests.poisoned = c.requests.poisoned || l.fault.Requests == Drop
	c.replies.poisoned = c.replies.poisoned || l.fault.Replies == Drop
	if l.fault.Requests != Pass || l.fault.Replies != Pass || c.requests.poisoned || c.replies.poisoned {
		return handshakeEvery
	}
	delay := 2*l.fault.Delay - c.waited // one round trip
	c.waited += delay
	return delay
}
