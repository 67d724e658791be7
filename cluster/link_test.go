package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/internal/waittest"
	"lockpick/internal/wiretest"
)

func TestLinkPasses(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	wiretest.Say(t, c, "hello")
	wiretest.Hear(t, c, "hello")
	c.CloseWrite() // the witness closes, which the client hears
	if rest, err := io.ReadAll(c); len(rest) != 0 || err != nil {
		t.Fatalf("after the end: %q, %v", rest, err)
	}
	if got := l.Counts(); got != (LinkCounts{Passed: 10}) {
		t.Fatalf("counts %+v; want 10 passed", got)
	}
	waittest.Until(t, "the link forgets a connection that ended", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.conns) == 0
	})
}

func TestHeldRequestsArriveLateInOrderAfterTheClientHungUp(t *testing.T) {
	w := newWitness(t, false)
	l := linkTo(t, w.addr())
	before := dial(t, l)
	wiretest.Say(t, before, "1")
	waittest.Until(t, "1 arrives", func() bool { got, _, _ := w.saw(0); return got == "1" })

	l.Set(LinkFault{Requests: Hold})
	during := dial(t, l) // the connection, too, is made only after healing
	for i, s := range []string{"2", "3", "4"} {
		wiretest.Say(t, before, s)
		wiretest.Say(t, during, s)
		waittest.Until(t, "each is a chunk of its own", func() bool { return l.Counts().Held == 2*int64(i+1) })
	}
	before.Close()
	during.Close()
	if got, ended, _ := w.saw(0); got != "1" || ended || w.count() != 1 {
		t.Fatalf("during the partition the master saw %q, ended %v, %d connections", got, ended, w.count())
	}

	l.Set(LinkFault{})
	for i, want := range []string{"1234", "234"} {
		waittest.Until(t, "the hang-up arrives", func() bool { _, ended, _ := w.saw(i); return ended })
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
	wiretest.Say(t, c, "late")
	waittest.Until(t, "it is held", func() bool { return l.Counts().Held == 4 })
	abort(c)
	l.Set(LinkFault{})
	waittest.Until(t, "the hang-up arrives", func() bool { _, ended, _ := w.saw(0); return ended })
	if got, _, err := w.saw(0); got != "late" || err != io.EOF {
		t.Fatalf("the master saw %q, then %v", got, err)
	}
}

func TestHeldRepliesArriveLate(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	l.Set(LinkFault{Replies: Hold})
	c := dial(t, l)
	wiretest.Say(t, c, "abc")
	waittest.Until(t, "the request arrives", func() bool { got, _, _ := w.saw(0); return got == "abc" })
	wiretest.Silent(t, c)
	l.Set(LinkFault{})
	wiretest.Hear(t, c, "abc")
}

func TestAPartitionHidesThatTheMasterEnded(t *testing.T) {
	for _, mode := range []Mode{Hold, Drop} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWitness(t, true)
			l := linkTo(t, w.addr())
			c := dial(t, l)
			wiretest.Say(t, c, "a")
			wiretest.Hear(t, c, "a")
			l.Set(LinkFault{Requests: mode, Replies: mode})
			w.mu.Lock()
			abort(w.conns[0].c.(*net.TCPConn))
			w.mu.Unlock()
			wiretest.Silent(t, c)
			l.Set(LinkFault{})
			wasReset(t, c)
		})
	}
}

func TestDroppedBytesPoisonTheConnectionUntilItIsReset(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	wiretest.Say(t, c, "a")
	wiretest.Hear(t, c, "a")
	quiet := dial(t, l)
	wiretest.Say(t, quiet, "q")
	wiretest.Hear(t, quiet, "q")

	l.Set(LinkFault{Requests: Drop})
	wiretest.Say(t, c, "lost")
	waittest.Until(t, "4 bytes are dropped", func() bool { return l.Counts().Dropped == 4 })
	l.Set(LinkFault{Replies: Drop}) // requests pass again, but this connection misses some
	wiretest.Say(t, c, "x")
	waittest.Until(t, "what follows a gap is dropped too", func() bool { return l.Counts().Dropped == 5 })
	wiretest.Silent(t, c)
	if got, _, _ := w.saw(0); got != "a" {
		t.Fatalf("the master saw %q", got)
	}

	l.Set(LinkFault{})
	wasReset(t, c)
	wiretest.Say(t, quiet, "!") // it lost nothing, so it lives
	wiretest.Hear(t, quiet, "!")
}

func TestDroppedRepliesLetRequestsThrough(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	l.Set(LinkFault{Replies: Drop})
	c := dial(t, l)
	wiretest.Say(t, c, "one")
	waittest.Until(t, "the request arrives, its reply is lost", func() bool {
		got, _, _ := w.saw(0)
		return got == "one" && l.Counts().Dropped == 3
	})
	wiretest.Say(t, c, "two")
	waittest.Until(t, "the next one, too", func() bool { got, _, _ := w.saw(0); return got == "onetwo" })
	wiretest.Silent(t, c)
	l.Set(LinkFault{})
	wasReset(t, c)
}

func TestDropLosesWhatWasHeld(t *testing.T) {
	w := newWitness(t, false)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	wiretest.Say(t, c, "a")
	waittest.Until(t, "a arrives", func() bool { got, _, _ := w.saw(0); return got == "a" })
	l.Set(LinkFault{Requests: Hold})
	wiretest.Say(t, c, "bcd")
	waittest.Until(t, "it is held", func() bool { return l.Counts().Held == 3 })
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
	wiretest.Say(t, old, "a")
	wiretest.Hear(t, old, "a")
	l.Set(LinkFault{Refuse: true})
	isRefused(t, l)
	wiretest.Say(t, old, "b")
	wiretest.Hear(t, old, "b")
	if got := l.Counts().Refused; got != 1 {
		t.Fatalf("%d refused; want 1", got)
	}
	l.Set(LinkFault{})
	c := dial(t, l)
	wiretest.Say(t, c, "c")
	wiretest.Hear(t, c, "c")
}

func TestResetReachesBothSides(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	wiretest.Say(t, c, "a")
	wiretest.Hear(t, c, "a")
	l.Reset()
	wasReset(t, c)
	waittest.Until(t, "the master's side is reset", func() bool {
		_, ended, err := w.saw(0)
		return ended && errors.Is(err, syscall.ECONNRESET)
	})
	c = dial(t, l)
	wiretest.Say(t, c, "b")
	wiretest.Hear(t, c, "b")
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
	wiretest.Silent(t, c)
	l.Set(LinkFault{})
	wasReset(t, c)
}

// Each chunk waits for the delay since its own arrival: one after the other would take an hour each.
func TestDelayAddsLatencyAndDoesNotThrottle(t *testing.T) {
	const delay, chunks = time.Hour, 20
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	l.Set(LinkFault{Delay: delay})
	pass := func() { // an hour
		l.mu.Lock()
		for c := range l.conns {
			for _, p := range []*pipe{&c.requests, &c.replies} {
				for i := range p.queue {
					p.queue[i].arrived = p.queue[i].arrived.Add(-delay)
				}
			}
		}
		l.mu.Unlock()
		l.Set(LinkFault{Delay: delay}) // so that it looks
	}
	var want string
	for i := range chunks { // pipelined, each its own chunk
		s := fmt.Sprintf("%02d,", i)
		wiretest.Say(t, c, s)
		want += s
		waittest.Until(t, "the chunk is delayed", func() bool { return l.Counts().Delayed == int64(len(want)) })
	}
	if got := l.Counts(); got.Passed != 0 {
		t.Fatalf("%d bytes arrived before their time", got.Passed)
	}
	pass()
	waittest.Until(t, "all requests arrive, and their replies are delayed", func() bool {
		got, _, _ := w.saw(0)
		return got == want && l.Counts().Delayed == 2*int64(len(want))
	})
	if got := l.Counts(); got.Passed != int64(len(want)) {
		t.Fatalf("%d bytes passed; want the %d of the requests", got.Passed, len(want))
	}
	pass()
	wiretest.Hear(t, c, want)
	if got := l.Counts(); got.Delayed != 2*int64(len(want)) || got.Passed != got.Delayed {
		t.Fatalf("counts %+v; want %d delayed", got, 2*len(want))
	}
}

func TestHealingEndsADelayAtOnce(t *testing.T) {
	w := newWitness(t, true)
	l := linkTo(t, w.addr())
	c := dial(t, l)
	l.Set(LinkFault{Delay: time.Hour})
	wiretest.Say(t, c, "abc")
	waittest.Until(t, "it is delayed", func() bool { return l.Counts().Delayed == 3 })
	wiretest.Silent(t, c)
	l.Set(LinkFault{})
	wiretest.Hear(t, c, "abc")
}

func TestAClosedLinkLeavesNothingBehind(t *testing.T) {
	w := newWitness(t, true)
	for _, f := range []LinkFault{{}, {Requests: Hold}, {Replies: Hold}, {Requests: Drop}, {Delay: time.Hour}} {
		l := linkTo(t, w.addr())
		l.Set(f)
		c := dial(t, l)
		wiretest.Say(t, c, "abc")
		waittest.Until(t, "the bytes are there", func() bool {
			counts := l.Counts()
			return counts.Passed+counts.Held+counts.Dropped+counts.Delayed > 0
		})
		waittest.Returns(fmt.Sprintf("closing a link with %+v", f), l.Close)
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
	waittest.Until(t, "all of it arrives", func() bool {
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
		l, err := NewLink(w.addr, LinkOptions{})
		if err != nil {
			r.Fatal(err)
		}
		defer l.Close()
		if rapid.Bool().Draw(r, "observed") {
			l.Observe(Observer{Opened: func(string) {}, Exchange: func(Exchange) {}, Lost: func(error) {}})
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
			k.c.SetReadDeadline(time.Now().Add(waittest.Limit))
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

// Requests go to the master before the observer reads them, and yet it knows each when its reply comes, and tells
// of it before the client has the reply.
func TestARequestIsObservedBeforeItsReply(t *testing.T) {
	const clients, commands = 4, 3000
	l := linkTo(t, okServer(t, 13))
	var votes [clients]atomic.Int64
	l.Observe(Observer{
		Opened: func(string) {}, Exchange: func(x Exchange) { votes[x.Args[1][0]-'0'].Add(1) },
		Lost: func(why error) { t.Error(why) },
	})
	var wg sync.WaitGroup
	for i := range clients {
		c := dial(t, l)
		wg.Go(func() {
			command := fmt.Sprintf("*6\r\n$3\r\nSET\r\n$1\r\n%d\r\n$5\r\ntoken\r\n$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n2000\r\n", i)
			reply := make([]byte, len("+OK\r\n"))
			for n := range commands {
				if _, err := io.WriteString(c, command); err != nil {
					t.Error(err)
					return
				}
				if _, err := io.ReadFull(c, reply); err != nil {
					t.Error(err)
					return
				}
				if told := votes[i].Load(); told != int64(n+1) {
					t.Errorf("after the reply to command %d of client %d there were %d votes", n+1, i, told)
					return
				}
			}
		})
	}
	wg.Wait()
}
