package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/cluster/resp"
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
	l, err := NewLink(func() string { return addr })
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

func say(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatalf("send %q: %v", text, err)
	}
}

// hear reads as many bytes as text has and compares.
func hear(t testing.TB, c net.Conn, text string) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	got := make([]byte, len(text))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("heard %q, %v; want %q", got[:n], err, text)
	}
}

// silent asserts that nothing comes for a while.
func silent(t testing.TB, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	var b [1]byte
	if n, err := c.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("heard %d bytes, %v; want silence", n, err)
	}
}

// wasReset asserts that the connection ends by RST.
func wasReset(t testing.TB, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the connection ended with %v; want a reset", err)
	}
}

func TestLinkPasses(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	say(t, c, "hello")
	hear(t, c, "hello")
	c.CloseWrite() // the witness closes, which the client hears
	if rest, err := io.ReadAll(c); len(rest) != 0 || err != nil {
		t.Fatalf("after the end: %q, %v", rest, err)
	}
	if got := l.Counts(); got != (LinkCounts{Passed: 10}) {
		t.Fatalf("counts %+v; want 10 passed", got)
	}
	eventually(t, "the link forgets a connection that ended", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.conns) == 0
	})
}

func TestHeldRequestsArriveLateInOrderAfterTheClientHungUp(t *testing.T) {
	w := newWitness(t, false)
	l := linkTo(t, w.addr())
	before := dial(t, l)
	say(t, before, "1")
	eventually(t, "1 arrives", func() bool { got, _, _ := w.saw(0); return got == "1" })

	l.Set(LinkFault{Requests: Hold})
	during := dial(t, l) // the connection, too, is made only after healing
	for _, s := range []string{"2", "3", "4"} {
		say(t, before, s)
		say(t, during, s)
		time.Sleep(time.Millisecond)
	}
	before.Close()
	during.Close()
	eventually(t, "6 bytes are held", func() bool { return l.Counts().Held == 6 })
	if got, ended, _ := w.saw(0); got != "1" || ended || w.count() != 1 {
		t.Fatalf("during the partition the master saw %q, ended %v, %d connections", got, ended, w.count())
	}

	l.Set(LinkFault{})
	for i, want := range []string{"1234", "234"} {
		eventually(t, "the hang-up arrives", func() bool { _, ended, _ := w.saw(i); return ended })
		if got, _, err := w.saw(i); got != want || err != io.EOF {
			t.Fatalf("connection %d: the master saw %q, then %v; want %q, then EOF", i, got, err, want)
		}
	}
	if got := l.Counts(); got != (LinkCounts{Passed: 7, Held: 6}) {
		t.Fatalf("counts %+v", got)
	}
}

func TestHeldRequestsAreDeliveredEvenIfTheClientResets(t *testing.T) {
	w := newWitness(t, false)
	l := linkTo(t, w.addr())
	l.Set(LinkFault{Requests: Hold})
	c := dial(t, l)
	say(t, c, "late")
	eventually(t, "it is held", func() bool { return l.Counts().Held == 4 })
	abort(c)
	l.Set(LinkFault{})
	eventually(t, "the hang-up arrives", func() bool { _, ended, _ := w.saw(0); return ended })
	if got, _, err := w.saw(0); got != "late" || err != io.EOF {
		t.Fatalf("the master saw %q, then %v", got, err)
	}
}

func TestHeldRepliesArriveLate(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	l.Set(LinkFault{Replies: Hold})
	c := dial(t, l)
	say(t, c, "abc")
	eventually(t, "the request arrives", func() bool { got, _, _ := w.saw(0); return got == "abc" })
	silent(t, c)
	l.Set(LinkFault{})
	hear(t, c, "abc")
}

func TestAPartitionHidesThatTheMasterEnded(t *testing.T) {
	for _, mode := range []Mode{Hold, Drop} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWitness(t, true)
			l := linkTo(t, w.addr())
			c := dial(t, l)
			say(t, c, "a")
			hear(t, c, "a")
			l.Set(LinkFault{Requests: mode, Replies: mode})
			w.mu.Lock()
			abort(w.conns[0].c.(*net.TCPConn))
			w.mu.Unlock()
			silent(t, c)
			l.Set(LinkFault{})
			wasReset(t, c)
		})
	}
}

func TestDroppedBytesPoisonTheConnectionUntilItIsReset(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	say(t, c, "a")
	hear(t, c, "a")
	quiet := dial(t, l)
	say(t, quiet, "q")
	hear(t, quiet, "q")

	l.Set(LinkFault{Requests: Drop})
	say(t, c, "lost")
	eventually(t, "4 bytes are dropped", func() bool { return l.Counts().Dropped == 4 })
	l.Set(LinkFault{Replies: Drop}) // requests pass again, but this connection misses some
	say(t, c, "x")
	eventually(t, "what follows a gap is dropped too", func() bool { return l.Counts().Dropped == 5 })
	silent(t, c)
	if got, _, _ := w.saw(0); got != "a" {
		t.Fatalf("the master saw %q", got)
	}

	l.Set(LinkFault{})
	wasReset(t, c)
	say(t, quiet, "!") // it lost nothing, so it lives
	hear(t, quiet, "!")
}

func TestDroppedRepliesLetRequestsThrough(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	l.Set(LinkFault{Replies: Drop})
	c := dial(t, l)
	say(t, c, "one")
	eventually(t, "the request arrives, its reply is lost", func() bool {
		got, _, _ := w.saw(0)
		return got == "one" && l.Counts().Dropped == 3
	})
	say(t, c, "two")
	eventually(t, "the next one, too", func() bool { got, _, _ := w.saw(0); return got == "onetwo" })
	silent(t, c)
	l.Set(LinkFault{})
	wasReset(t, c)
}

func TestDropLosesWhatWasHeld(t *testing.T) {
	w := newWitness(t, false)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	say(t, c, "a")
	eventually(t, "a arrives", func() bool { got, _, _ := w.saw(0); return got == "a" })
	l.Set(LinkFault{Requests: Hold})
	say(t, c, "bcd")
	eventually(t, "it is held", func() bool { return l.Counts().Held == 3 })
	l.Set(LinkFault{Requests: Drop})
	if got := l.Counts(); got.Dropped != 3 {
		t.Fatalf("counts %+v; want 3 dropped at once", got)
	}
	l.Set(LinkFault{})
	wasReset(t, c)
	if got, _, _ := w.saw(0); got != "a" {
		t.Fatalf("the master saw %q", got)
	}
}

func TestRefuseClosesNewConnectionsOnly(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	old := dial(t, l)
	say(t, old, "a")
	hear(t, old, "a")
	l.Set(LinkFault{Refuse: true})
	isRefused(t, l)
	say(t, old, "b")
	hear(t, old, "b")
	if got := l.Counts().Refused; got != 1 {
		t.Fatalf("%d refused; want 1", got)
	}
	l.Set(LinkFault{})
	c := dial(t, l)
	say(t, c, "c")
	hear(t, c, "c")
}

func TestResetReachesBothSides(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	say(t, c, "a")
	hear(t, c, "a")
	l.Reset()
	wasReset(t, c)
	eventually(t, "the master's side is reset", func() bool {
		_, ended, err := w.saw(0)
		return ended && errors.Is(err, syscall.ECONNRESET)
	})
	c = dial(t, l)
	say(t, c, "b")
	hear(t, c, "b")
}

func TestAMasterThatCanNotBeReachedResetsTheClient(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	l := linkTo(t, free.Addr().String())
	isRefused(t, l)

	l.Set(LinkFault{Replies: Hold}) // who hears no replies hears no refusal either
	c := dial(t, l)
	silent(t, c)
	l.Set(LinkFault{})
	wasReset(t, c)
}

func TestDelayAddsLatencyAndDoesNotThrottle(t *testing.T) {
	const delay, chunks = 80 * time.Millisecond, 20
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	l.Set(LinkFault{Delay: delay})
	began := time.Now()
	var want string
	for i := range chunks { // pipelined, each its own chunk
		s := fmt.Sprintf("%02d,", i)
		say(t, c, s)
		want += s
		time.Sleep(time.Millisecond)
	}
	if got, _, _ := w.saw(0); got != "" && time.Since(began) < delay {
		t.Fatalf("%q arrived before its time", got)
	}
	hear(t, c, want)
	took := time.Since(began)
	if took < 2*delay {
		t.Fatalf("there and back in %v; want %v at least", took, 2*delay)
	}
	if took > chunks*delay { // one after the other would take 2*chunks*delay
		t.Fatalf("there and back in %v: chunks waited for each other", took)
	}
	if got := l.Counts(); got.Delayed != 2*int64(len(want)) || got.Passed != got.Delayed {
		t.Fatalf("counts %+v; want %d delayed", got, 2*len(want))
	}
}

func TestHealingEndsADelayAtOnce(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	l.Set(LinkFault{Delay: time.Hour})
	say(t, c, "abc")
	eventually(t, "it is delayed", func() bool { return l.Counts().Delayed == 3 })
	silent(t, c)
	l.Set(LinkFault{})
	hear(t, c, "abc")
}

func TestAClosedLinkLeavesNothingBehind(t *testing.T) {
	w := newWitness(t, true)
	for _, f := range []LinkFault{{}, {Requests: Hold}, {Replies: Hold}, {Requests: Drop}, {Delay: time.Hour}} {
		l := linkTo(t, w.addr())
		l.Set(f)
		c := dial(t, l)
		say(t, c, "abc")
		time.Sleep(5 * time.Millisecond)
		closed := make(chan struct{})
		go func() {
			l.Close()
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Fatalf("with %+v the link does not close", f)
		}
		wasReset(t, c)
		l.Close()
	}
}

func TestAHeldDirectionPushesBackInsteadOfKeepingEverything(t *testing.T) {
	w := newWitness(t, false)
	l := linkTo(t, w.addr())
	l.Set(LinkFault{Requests: Hold})
	c := dial(t, l)
	block := bytes.Repeat([]byte("x"), 1<<20)
	sent := 0
	for range 64 {
		c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		n, err := c.Write(block)
		sent += n
		if err != nil {
			break
		}
	}
	if held := l.Counts().Held; held > keepLimit+chunkSize {
		t.Fatalf("%d bytes are kept; the limit is %d", held, keepLimit)
	}
	if sent == 64<<20 {
		t.Fatal("the sender never felt it")
	}
	l.Set(LinkFault{})
	c.CloseWrite()
	eventually(t, "all of it arrives", func() bool {
		got, ended, _ := w.saw(0)
		return ended && len(got) == sent
	})
}

// Whatever happens to a link, short of losing bytes, each connection's bytes
// arrive in order and complete once it is healed.
func TestLinkKeepsOrderAndBytes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWitness(t, true)
		defer w.ln.Close()
		l, err := NewLink(w.addr)
		if err != nil {
			r.Fatal(err)
		}
		defer l.Close()
		if rapid.Bool().Draw(r, "observed") {
			l.Observe(&resp.Observer{Scripts: &resp.Scripts{}, Vote: func(resp.Vote) {}})
		}
		type client struct {
			c    *net.TCPConn
			sent bytes.Buffer
			gone bool
		}
		var clients []*client
		faults := rapid.Custom(func(r *rapid.T) LinkFault {
			mode := rapid.SampledFrom([]Mode{Pass, Hold})
			return LinkFault{
				Requests: mode.Draw(r, "requests"),
				Replies:  mode.Draw(r, "replies"),
				Delay:    time.Duration(rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(r, "delay ms")) * time.Millisecond,
			}
		})
		for i := range rapid.IntRange(1, 30).Draw(r, "steps") {
			switch step := rapid.IntRange(0, 9).Draw(r, "step"); {
			case step == 0 || len(clients) == 0:
				c, err := net.Dial("tcp", l.Addr())
				if err != nil {
					r.Fatal(err)
				}
				defer c.Close()
				k := &client{c: c.(*net.TCPConn)}
				clients = append(clients, k)
				// Its first bytes name it: held connections may arrive in any order.
				fmt.Fprintf(io.MultiWriter(c, &k.sent), "client %d:", len(clients)-1)
			case step <= 3:
				l.Set(faults.Draw(r, "fault"))
			case step == 4:
				k := rapid.SampledFrom(clients).Draw(r, "who hangs up")
				k.c.CloseWrite()
				k.gone = true
			default:
				k := rapid.SampledFrom(clients).Draw(r, "who sends")
				if !k.gone {
					text := bytes.Repeat([]byte{byte('a' + i%26)}, rapid.SampledFrom([]int{1, 10, 1000, 50000}).Draw(r, "bytes"))
					k.sent.Write(text)
					if _, err := k.c.Write(text); err != nil {
						r.Fatal(err)
					}
				}
			}
		}
		l.Set(LinkFault{})
		var total int64
		for i, k := range clients {
			k.c.CloseWrite()
			k.c.SetReadDeadline(time.Now().Add(10 * time.Second))
			got, err := io.ReadAll(k.c)
			if err != nil || !bytes.Equal(got, k.sent.Bytes()) {
				r.Fatalf("client %d sent %d bytes and heard %d (%v)", i, k.sent.Len(), len(got), err)
			}
			total += 2 * int64(len(got))
		}
		if got := l.Counts(); got.Passed != total || got.Dropped != 0 {
			r.Fatalf("counts %+v; want %d passed", got, total)
		}
	})
}

// eventually waits for something that nothing announces.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for began := time.Now(); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}
