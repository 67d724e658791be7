package virtual

import (
	"io"
	"net"
	"os"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim"
)

// conn is a client's end of a stream.
type conn struct {
	cluster *Cluster
	stream  *sim.Stream
	master  int                    // 0 is m1
	follow  func(cluster.Exchange) // is called before the client reads a reply, and may wait; nil: nobody follows the connection
	address addr
	wake    chan struct{} // signals that there may be bytes to read, or that the deadline has changed

	mu          sync.Mutex
	read, write time.Time // deadlines
	timer       *time.Timer
	reading     sync.Mutex
	closed      bool
	sleeps      bool // the reader waits
}

func (c *conn) tell(done []cluster.Exchange) {
	for _, x := range done {
		c.follow(x)
	}
}

// rouse wakes the reader. The world calls it.
func (c *conn) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *conn) fail(what string, err error) error {
	return &net.OpError{Op: what, Net: "tcp", Source: addr("10.0.0.0:1"), Addr: c.address, Err: err}
}

// Read waits for bytes, for the end of the connection or for the deadline.
func (c *conn) Read(b []byte) (n int, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		c.mu.Lock()
		deadline, closed := c.read, c.closed
		c.mu.Unlock()
		if closed {
			return 0, c.fail("read", net.ErrClosed)
		}
		left := time.Until(deadline)
		if !deadline.IsZero() && left <= 0 {
			return 0, c.fail("read", os.ErrDeadlineExceeded)
		}
		var done []cluster.Exchange
		c.cluster.live.Call(func() {
			n, err = c.stream.Receive(b)
			done = c.stream.Exchanged()
		})
		c.tell(done)
		switch {
		case n > 0 || len(b) == 0 && err == nil:
			return n, nil
		case err != nil:
			if err == io.EOF {
				return 0, err
			}
			return 0, c.fail("read", err)
		}
		if !c.sleep(deadline) {
			continue // the deadline was changed meanwhile
		}
		if deadline.IsZero() {
			<-c.wake
			continue
		}
		if c.timer == nil {
			c.timer = time.NewTimer(left)
		} else {
			c.timer.Reset(left)
		}
		select {
		case <-c.wake:
		case <-c.timer.C:
		}
		c.timer.Stop()
	}
}

// sleep makes the reader wait until the given time, unless the deadline has changed meanwhile.
func (c *conn) sleep(deadline time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sleeps = c.read.Equal(deadline) && !c.closed
	return c.sleeps
}

// Write gives the bytes to the client's kernel, which accepts all of them.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	deadline, closed := c.write, c.closed
	c.mu.Unlock()
	switch {
	case closed:
		return 0, c.fail("write", net.ErrClosed)
	case !deadline.IsZero() && time.Until(deadline) <= 0:
		return 0, c.fail("write", os.ErrDeadlineExceeded)
	}
	var err error
	c.cluster.live.Call(func() { err = c.stream.Send(b) })
	if err != nil {
		return 0, c.fail("write", err)
	}
	return len(b), nil
}

// Close closes the client's end.
func (c *conn) Close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return c.fail("close", net.ErrClosed)
	}
	var done []cluster.Exchange
	c.cluster.live.Call(func() {
		c.stream.Hangup()
		done = c.stream.Exchanged()
	})
	c.tell(done)
	c.cluster.mu.Lock()
	delete(c.cluster.conns, c)
	c.cluster.mu.Unlock()
	c.rouse()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return addr("10.0.0.0:1") }
func (c *conn) RemoteAddr() net.Addr { return c.address }

func (c *conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write = t
	c.setRead(t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setRead(t)
	return nil
}

// setRead changes the deadline, also for a reader that is waiting. The caller holds the mutex.
func (c *conn) setRead(t time.Time) {
	c.read = t
	if c.sleeps {
		c.sleeps = false
		c.rouse()
	}
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write = t
	return nil
}
