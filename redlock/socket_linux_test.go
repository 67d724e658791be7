package redlock

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// sockets are both ends of a connection, ours and a master's.
func sockets(t *testing.T) (ours net.Conn, theirs *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	m, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), m.Close() })
	ours = quick(c)
	if _, ok := ours.(*socket); !ok {
		t.Fatalf("a TCP connection became a %T", ours)
	}
	return ours, m.(*net.TCPConn)
}

// More than the kernel has room for is written in parts, and waits for the reader in
// between; none of it is lost, doubled, or out of order.
func TestSocketWritesInParts(t *testing.T) {
	ours, theirs := sockets(t)
	sent := make([]byte, 32<<20)
	for i := range sent {
		sent[i] = byte(i>>16 ^ i>>8 ^ i)
	}
	written := make(chan error, 1)
	go func() {
		n, err := ours.Write(sent)
		if err == nil && n != len(sent) {
			err = io.ErrShortWrite
		}
		written <- err
		_ = ours.Close()
	}()
	got, err := io.ReadAll(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(got) != sha256.Sum256(sent) {
		t.Errorf("%d bytes arrived, of %d, or others", len(got), len(sent))
	}
}

// Both directions at a time: the reader waits while the writer writes.
func TestSocketEchoes(t *testing.T) {
	ours, theirs := sockets(t)
	go func() {
		_, _ = io.Copy(theirs, theirs)
		_ = theirs.CloseWrite()
	}()
	sent := bytes.Repeat([]byte("set k token nx px 10000\r\n"), 1<<16)
	go func() { _, _ = ours.Write(sent) }()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(ours, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Error("what came back is not what was sent")
	}
}

func TestSocketEnds(t *testing.T) {
	t.Run("with what was sent before", func(t *testing.T) {
		ours, theirs := sockets(t)
		_, _ = theirs.Write([]byte("+OK\r\n"))
		_ = theirs.Close()
		got, err := io.ReadAll(ours)
		if string(got) != "+OK\r\n" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		if n, err := ours.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("at the end: %d, %v", n, err)
		}
	})
	t.Run("by a reset", func(t *testing.T) {
		ours, theirs := sockets(t)
		_ = theirs.SetLinger(0)
		_ = theirs.Close()
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v", err)
		}
		if n, err := ours.Write([]byte("x")); n != 0 || !errors.Is(err, syscall.EPIPE) {
			t.Errorf("write: %d, %v", n, err)
		}
	})
	t.Run("by us, while somebody reads", func(t *testing.T) {
		ours, _ := sockets(t)
		read := make(chan error)
		go func() {
			_, err := ours.Read(make([]byte, 1))
			read <- err
		}()
		_ = ours.Close() // before the read or during it: it ends either way
		if err := <-read; !errors.Is(err, net.ErrClosed) {
			t.Errorf("read: %v", err)
		}
	})
	t.Run("for a write that takes too long", func(t *testing.T) {
		ours, _ := sockets(t) // nobody reads: a stopped master
		wrote := make(chan error)
		go func() {
			n, err := ours.Write(make([]byte, 64<<20))
			if n == 0 || n == 64<<20 {
				t.Errorf("%d bytes were written", n)
			}
			wrote <- err
		}()
		_ = ours.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %v", err)
		}
	})
	t.Run("not for nothing", func(t *testing.T) {
		ours, _ := sockets(t)
		if n, err := ours.Read(nil); n != 0 || err != nil {
			t.Errorf("read: %d, %v", n, err)
		}
		if n, err := ours.Write(nil); n != 0 || err != nil {
			t.Errorf("write: %d, %v", n, err)
		}
	})
}

// What is no socket, or encrypts what goes over one, stays as it is.
func TestSocketOrNot(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	for _, c := range []net.Conn{ours, tls.Client(ours, &tls.Config{})} {
		if got := quick(c); got != c {
			t.Errorf("a %T became a %T", c, got)
		}
	}
}
