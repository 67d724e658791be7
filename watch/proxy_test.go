package watch

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	if what := os.Getenv("WATCH_BETWEEN"); what != "" { // see BenchmarkAddedLatency
		if err := standBetween(what, os.Getenv("WATCH_TO")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// through starts a server that calls serve with each connection, and a proxy in front of it.
func through(t testing.TB, serve func(net.Conn)) (address string, tap *Tap) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	l, err := NewLint(Options{Masters: 1})
	if err != nil {
		t.Fatal(err)
	}
	tap = NewTap(l)
	p, err := NewProxy(0, Target{Listen: "127.0.0.1:0", To: ln.Addr().String()}, tap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ln.Close()
		p.Close()
		tap.Close()
	})
	return p.Addr(), tap
}

func dial(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*net.TCPConn)
}

// TestAnyBytesArriveUnchangedInAnyChunks checks that a client's bytes arrive unchanged, and so do the
// bytes that the server sends after the client has closed its half.
func TestAnyBytesArriveUnchangedInAnyChunks(t *testing.T) {
	replies := make(chan []byte, 1)
	got := make(chan []byte, 1)
	address, _ := through(t, func(c net.Conn) {
		defer c.Close()
		b, _ := io.ReadAll(c) // ends when the client closes its half
		got <- b
		c.Write(<-replies)
	})
	rapid.Check(t, func(rt *rapid.T) {
		chunk := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 1, 100), rapid.Map(rapid.SampledFrom([]string{
			"*1\r\n$4\r\nPING\r\n", "*3\r\n$5\r\nSETNX\r\n$1\r\nk\r\n$1\r\nv\r\n", "+OK\r\n", "*", "\r\n", "$100000\r\n"}), func(s string) []byte { return []byte(s) }),
			rapid.Map(rapid.IntRange(1, 200_000), func(n int) []byte { return bytes.Repeat([]byte{byte(n)}, n) }))
		sent := rapid.SliceOfN(chunk, 1, 20).Draw(rt, "sent")
		back := bytes.Join(rapid.SliceOfN(chunk, 0, 5).Draw(rt, "back"), nil)
		c := dial(t, address)
		defer c.Close()
		replies <- back
		for _, b := range sent {
			if _, err := c.Write(b); err != nil {
				rt.Fatal(err)
			}
		}
		if err := c.CloseWrite(); err != nil {
			rt.Fatal(err)
		}
		if b := <-got; !bytes.Equal(b, bytes.Join(sent, nil)) {
			rt.Fatalf("the server got %d bytes that differ from the %d that were sent", len(b), len(bytes.Join(sent, nil)))
		}
		if b, err := io.ReadAll(c); err != nil || !bytes.Equal(b, back) {
			rt.Fatalf("the client got %d bytes (%v); the server sent %d", len(b), err, len(back))
		}
	})
}

// TestAKilledConnectionIsKilledOnTheOtherSide checks that a reset of either side resets the other.
func TestAKilledConnectionIsKilledOnTheOtherSide(t *testing.T) {
	server := make(chan net.Conn, 1)
	address, _ := through(t, func(c net.Conn) { server <- c })
	for _, first := range []string{"client", "server"} {
		c := dial(t, address)
		s := <-server
		_ = s.SetDeadline(time.Now().Add(20 * time.Second))
		dead, other := net.Conn(c), s
		if first == "server" {
			dead, other = s, c
		}
		reset(dead)
		if _, err := other.Read(make([]byte, 1)); err == nil || err == io.EOF || os.IsTimeout(err) {
			t.Errorf("the %s was reset, and the other side sees %v", first, err)
		}
		other.Close()
	}
}

// TestSlowReaderDropsCopiesAndDelaysNoClient checks that copies beyond the limit are dropped and
// counted, and that the bytes still arrive.
func TestSlowReaderDropsCopiesAndDelaysNoClient(t *testing.T) {
	address, tap := through(t, func(c net.Conn) { io.Copy(c, c); c.Close() })
	tap.limit = 1 << 20
	release := make(chan struct{})
	go tap.Read(func(*Lint) { <-release }) // the reader hangs
	defer close(release)
	c := dial(t, address)
	b := bytes.Repeat([]byte("x"), 64<<10)
	for range 64 {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, len(b))); err != nil {
			t.Fatal(err)
		}
	}
	if m, _, _, _ := tap.Status(); m.Bytes < 2<<20 || m.Gaps == 0 {
		t.Errorf("8 MiB passed with room for 1 MiB of copies, and %+v was missed", m)
	}
}
