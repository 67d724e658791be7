// Package wiretest sends and expects text on connections in tests of links and masters.
package wiretest

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"lockpick/internal/waittest"
)

// Say writes text to a connection.
func Say(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatalf("send %q: %v", text, err)
	}
}

// Hear reads as many bytes as text has, and fails the test if they differ from text or do not arrive.
func Hear(t testing.TB, c net.Conn, text string) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(waittest.Limit))
	got := make([]byte, len(text))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("received %q, %v; want %q", got[:n], err, text)
	}
}

// Silent fails the test if the connection receives anything, or ends, within 30 ms.
func Silent(t testing.TB, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	var b [1]byte
	if n, err := c.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("received %d bytes, %v; want nothing", n, err)
	}
}
