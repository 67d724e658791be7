package redlock_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// TestGolden runs the stories of testdata/story: what masters answer and when, what
// a client does, and what comes of it.
func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/story", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "story" {
			d.Fatalf(t, "there are only stories")
		}
		var out string
		bubble(t, func(t *testing.T) {
			s := &story{t: t, masters: newFakeMasters(5), names: map[string]string{}, start: time.Now()}
			d.MaybeScanArgs(t, "masters", &s.n)
			if s.n > 0 {
				s.masters = newFakeMasters(s.n)
			}
			s.masters.fate, s.masters.asked = s.fate, s.asked
			s.masters.applied, s.masters.voted = s.applied, s.voted
			s.tell(strings.Split(d.Input, "\n"))
			settle()
			out = s.out.String()
		})
		return out
	})
}

// story is one story while it is told.
type story struct {
	t       *testing.T
	n       int
	masters *fakeMasters
	lines   map[int][]string // of each master: what it does, word by word
	client  *redlock.Client
	lease   *redlock.Lease
	pause   time.Duration // of the client, once the votes have decided

	mu    sync.Mutex
	start time.Time
	names map[string]string // of tokens
	out   strings.Builder
}

func (s *story) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Since(s.start).Truncate(time.Microsecond)
	fmt.Fprintf(&s.out, "%8v  %s\n", at, fmt.Sprintf(format, args...))
}

// token names tokens by the order in which they appear.
func (s *story) token(token string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[token] == "" {
		s.names[token] = "T" + strconv.Itoa(len(s.names)+1)
	}
	return s.names[token]
}

func (s *story) asked(cmd protocol.Command, to []int) {
	whom := "all"
	if len(to) < len(s.masters.masters) {
		whom = ""
		for _, i := range to {
			whom += fmt.Sprintf("m%d ", i+1)
		}
		whom = strings.TrimSpace(whom)
	}
	text := fmt.Sprintf("%s %s", cmd.Purpose, s.token(cmd.Token))
	if cmd.Purpose == redlock.Set || cmd.Purpose == redlock.Extend {
		text += fmt.Sprintf(" px %d", ttl(cmd).Milliseconds())
	}
	if cmd.Purpose == redlock.WriteBack {
		text += fmt.Sprintf(" %d", cmd.Args[1])
	}
	s.say("→ %-3s %s", whom, text)
}

func (s *story) applied(master int, cmd protocol.Command, reply int64, late bool) {
	if late {
		s.say("   m%d   gets %s %s now, in its turn", master+1, cmd.Purpose, s.token(cmd.Token))
	}
}

func (s *story) voted(v redlock.Vote) {
	reply := "no"
	switch {
	case v.Err != nil:
		_, reply, _ = strings.Cut(v.Err.Error(), ": ")
	case v.Yes && v.Reply > 1:
		reply = fmt.Sprintf("yes, %d", v.Reply)
	case v.Yes:
		reply = "yes"
	}
	s.say("← m%d   %s: %s", v.Master+1, v.Purpose, reply)
}

// fate reads a master's line: after how long it replies, and kind=what for the
// commands that it treats in another way. Without a line it replies after as many
// milliseconds as its number.
func (s *story) fate(master int, cmd protocol.Command) fate {
	f := fate{arrives: time.Duration(master+1) * time.Millisecond}
	for _, word := range s.lines[master] {
		kind, what, special := strings.Cut(word, "=")
		switch {
		case !special:
			f.arrives = s.duration(word)
		case kind != string(cmd.Purpose) && kind != "all":
		case what == "yes":
			f.said = yes.said
		case what == "no":
			f.said = no.said
		case what == "silent":
			f.lost = true
		case what == "mute":
			f.mute = true
		case what == "refused":
			f.refused = true
		default:
			f.arrives = s.duration(what)
		}
	}
	return f
}

func (s *story) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *story) tell(lines []string) {
	s.lines = map[int][]string{}
	for _, line := range lines {
		words := strings.Fields(line)
		master, isMaster := strings.CutSuffix(words[0], ":")
		switch {
		case isMaster:
			n, err := strconv.Atoi(strings.TrimPrefix(master, "m"))
			if err != nil {
				s.t.Fatal(err)
			}
			s.lines[n-1] = words[1:]
		case words[0] == "wait":
			time.Sleep(s.duration(words[1]))
		case words[0] == "pause": // the client, after the votes
			s.pause = s.duration(words[1])
		case words[0] == "counter": // counter m1 5
			n, _ := strconv.Atoi(words[2])
			m, _ := strconv.Atoi(words[1][1:])
			s.masters.masters[m-1].counters["k"] = int64(n)
		case words[0] == "forget": // forget m1 m2: they restart and have lost their keys
			s.forget(words[1:])
		case words[0] == "after": // after 5ms forget m1 m2
			time.AfterFunc(s.duration(words[1]), func() { s.forget(words[3:]) })
		default:
			s.act(words)
		}
	}
}

func (s *story) forget(masters []string) {
	for _, m := range masters {
		i, _ := strconv.Atoi(m[1:])
		s.masters.forget(i - 1)
	}
	s.say("  %s forget", strings.Join(masters, " "))
}

// act has the client do something.
func (s *story) act(words []string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var opts []redlock.CallOption
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "ttl":
			opts = append(opts, redlock.WithTTL(s.duration(value)))
		case "sequential":
			opts = append(opts, redlock.WithSequential())
		case "fencing":
			opts = append(opts, redlock.WithFencing())
		case "hold":
			opts = append(opts, redlock.WithMaxHold(s.duration(value)))
		case "ctx": // ends after that long
			time.AfterFunc(s.duration(value), cancel)
		default:
			s.t.Fatalf("what is %q?", word)
		}
	}
	if s.client == nil {
		s.client = open(s.t, s.masters, redlock.WithTTL(time.Second), redlock.WithRuntime(&counting{}),
			redlock.WithHooks(redlock.Hooks{
				Decided: func(redlock.Decision) { time.Sleep(s.pause) },
				Ended:   func(_ *redlock.Lease, cause error) { s.say("= the lease ends: %v", cause) },
			}))
	}
	var err error
	switch words[0] {
	case "trylock", "lock":
		lock := s.client.TryLock
		if words[0] == "lock" {
			lock = s.client.Lock
		}
		var lease *redlock.Lease
		if lease, err = lock(ctx, "k", opts...); err == nil {
			s.lease = lease
			s.granted("granted")
		}
	case "extend":
		var lease *redlock.Lease
		if lease, err = s.lease.Extend(ctx); err == nil {
			s.lease = lease
			s.granted("extended")
		}
	case "unlock":
		if err = s.lease.Unlock(ctx); err == nil {
			s.say("= released")
		}
	default:
		s.t.Fatalf("what is %q?", words[0])
	}
	if err != nil {
		s.say("= %v", err)
	}
}

func (s *story) granted(how string) {
	text := fmt.Sprintf("= %s %s until %v", how, s.token(s.lease.Token()), s.lease.Until().Sub(s.start).Truncate(time.Microsecond))
	if s.lease.Fence() > 0 {
		text += fmt.Sprintf(", fence %d", s.lease.Fence())
	}
	s.say("%s", text)
}

// counting is real (here: virtual) time with random numbers that count up, so that
// a story is the same each time it is told.
type counting struct {
	protocol.RealTime
	mu sync.Mutex
	n  uint64
}

func (c *counting) Read(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(b)
	c.n++
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], c.n*10e6) // as a retry delay: a few tens of milliseconds
	copy(b, n[:])
}
