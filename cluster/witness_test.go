package cluster

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockpick/internal/waittest"
)

// witness is a server that keeps what each of its connections sent, in the order
// in which the connections came, and echoes it if it is told to.
type witness struct {
	ln   net.Listener
	echo bool
	wg   sync.WaitGroup

	mu    sync.Mutex
	conns []*witnessed
}

type witnessed struct {
	c     net.Conn
	got   bytes.Buffer
	ended bool
	err   error
}

func newWitness(t testing.TB, echo bool) *witness {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{ln: ln, echo: echo}
	w.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			k := &witnessed{c: c}
			w.mu.Lock()
			w.conns = append(w.conns, k)
			w.mu.Unlock()
			w.wg.Go(func() { w.listen(k) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		w.mu.Lock()
		for _, k := range w.conns {
			k.c.Close()
		}
		w.mu.Unlock()
		w.wg.Wait()
	})
	return w
}

func (w *witness) listen(k *witnessed) {
	defer k.c.Close()
	buf := make([]byte, 4096)
	for {
		n, err := k.c.Read(buf)
		w.mu.Lock()
		k.got.Write(buf[:n])
		if err != nil {
			k.ended, k.err = true, err
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		if w.echo {
			k.c.Write(buf[:n])
		}
	}
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns)
}

// saw is what connection i sent so far, and how it ended.
func (w *witness) saw(i int) (got string, ended bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i >= len(w.conns) {
		return "", false, nil
	}
	k := w.conns[i]
	return k.got.String(), k.ended, k.err
}

func (w *witness) addr() string { return w.ln.Addr().String() }

func linkTo(t testing.TB, addr string) *TCPLink {
	t.Helper()
	l, err := NewLink(func() string { return addr }, LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func dial(t testing.TB, l *TCPLink) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// isRefused asserts that a new connection is reset, at once or after it was made.
func isRefused(t testing.TB, l *TCPLink) {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr())
	if errors.Is(err, syscall.ECONNRESET) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wasReset(t, c)
}

// wasReset asserts that the connection ends by RST.
func wasReset(t testing.TB, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(waittest.Limit))
	if _, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the connection ended with %v; want a reset", err)
	}
}
