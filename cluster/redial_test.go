package cluster

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"lockpick/internal/waittest"
)

// echo serves an address: it sends back what it gets.
func echo(t *testing.T, address string) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	return ln
}

// TestALinkDialsAServerThatIsAboutToListen: its client waits meanwhile, and is not told that the server closed.
func TestALinkDialsAServerThatIsAboutToListen(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().String()
	ln.Close()
	l, err := NewLink(func() string { return at }, LinkOptions{
		Redial:  waittest.Limit,
		Opening: func(first []byte) []byte { return bytes.Replace(first, []byte("old"), []byte("new"), 1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "old "); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := c.Read(make([]byte, 4)); err == nil || err == io.EOF {
		t.Fatalf("before the server listens: %v, want no answer", err)
	}
	echo(t, at)
	_ = c.SetReadDeadline(time.Now().Add(waittest.Limit))
	got := make([]byte, 8)
	if _, err := io.ReadFull(c, got[:4]); err != nil || string(got[:4]) != "new " {
		t.Fatalf("%q, %v: the first bytes were to be replaced", got[:4], err)
	}
	_, _ = io.WriteString(c, "old ")
	if _, err := io.ReadFull(c, got[4:]); err != nil || string(got) != "new old " {
		t.Errorf("%q, %v: only the first bytes were to be replaced", got, err)
	}
}

// TestALinkThatIsHushedRefuses: it has the same address when it listens again, and open connections stay.
func TestALinkThatIsHushedRefuses(t *testing.T) {
	server := echo(t, "127.0.0.1:0")
	l, err := NewLink(func() string { return server.Addr().String() }, LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := l.Addr()
	open, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	l.Hush()
	if c, err := net.Dial("tcp", at); err == nil {
		c.Close()
		t.Error("it still accepts")
	}
	_, _ = io.WriteString(open, "x")
	_ = open.SetReadDeadline(time.Now().Add(waittest.Limit))
	if _, err := io.ReadFull(open, make([]byte, 1)); err != nil {
		t.Errorf("a connection that was open: %v", err)
	}
	if err := l.Listen(); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", at)
	if err != nil || l.Addr() != at {
		t.Fatalf("it listens again at %s: %v", l.Addr(), err)
	}
	c.Close()
}

// TestALinkWaitsForItsPort: a link retries while another socket still listens at its port.
func TestALinkWaitsForItsPort(t *testing.T) {
	before, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { before.Close() })
	at := before.Addr().(*net.TCPAddr)
	l, err := NewLink(func() string { return "" }, LinkOptions{Port: at.Port})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Addr() != at.String() {
		t.Errorf("it listens at %s, want %s", l.Addr(), at)
	}
}
