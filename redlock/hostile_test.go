package redlock_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/internal/sampletest"
	"lockpick/internal/waittest"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// forger is a master that carries out the lock's commands, but answers one of them with a forged reply.
type forger struct {
	ln    net.Listener
	wg    sync.WaitGroup
	resp3 bool

	mu     sync.Mutex
	conns  map[net.Conn]bool
	keys   map[string]string
	fences map[string]int
	of     string // the name of the command whose replies are forged; "" for none
	forged string
	forges int // number of forged replies that were sent
}

func newForger(t *testing.T, resp3 bool) *forger {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f := &forger{ln: ln, resp3: resp3, conns: map[net.Conn]bool{}, keys: map[string]string{}, fences: map[string]int{}}
	f.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.conns[c] = true
			f.mu.Unlock()
			f.wg.Go(func() { f.serve(c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		f.mu.Lock()
		for c := range f.conns {
			c.Close()
		}
		f.mu.Unlock()
		f.wg.Wait()
	})
	return f
}

func (f *forger) serve(c net.Conn) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		words, err := request(r)
		if err != nil {
			return
		}
		reply := f.reply(words)
		bytes := []byte(strings.TrimSuffix(reply, "…"))
		for endless := strings.HasSuffix(reply, "…"); ; {
			if _, err := c.Write(bytes); err != nil {
				return
			}
			if !endless {
				break
			}
		}
	}
}

// commandName returns the name of a command, or of the script that it runs.
func commandName(words []string) string {
	name := strings.ToLower(words[0])
	if !strings.HasPrefix(name, "eval") {
		return name
	}
	for i, s := range protocol.Scripts {
		if words[1] == s.SHA || words[1] == s.Text {
			return []string{"set-and-count", "release", "release-many", "release-and-publish", "extend", "check", "raise"}[i]
		}
	}
	return name
}

func (f *forger) reply(words []string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := commandName(words)
	if name == f.of {
		f.forges++
		return f.forged
	}
	number := func(yes bool) string {
		if yes {
			return ":1\r\n"
		}
		return ":0\r\n"
	}
	holds := func() bool {
		return len(words) > 4 && f.keys[words[3]] == words[len(words)-1] || f.keys[words[3]] == words[len(words)-2]
	}
	set := func(key, token string) bool {
		free := f.keys[key] == ""
		if free {
			f.keys[key] = token
		}
		return free
	}
	switch name {
	case "hello":
		if f.resp3 {
			return "%1\r\n$5\r\nproto\r\n:3\r\n"
		}
		return "-ERR unknown command 'HELLO'\r\n"
	case "ping":
		return "+PONG\r\n"
	case "info":
		id := f.ln.Addr().String()
		return fmt.Sprintf("$%d\r\nrun_id:%s\r\n\r\n", len(id)+9, id)
	case "script":
		return "$2\r\nab\r\n"
	case "set":
		if set(words[1], words[2]) {
			return "+OK\r\n"
		}
		return "$-1\r\n"
	case "set-and-count":
		if !set(words[3], words[5]) {
			return ":0\r\n"
		}
		f.fences[words[3]]++
		return fmt.Sprintf(":%d\r\n", f.fences[words[3]])
	case "raise":
		to, _ := strconv.Atoi(words[len(words)-1])
		f.fences[words[3]] = max(f.fences[words[3]], to)
		return number(f.keys[words[3]] == words[5])
	case "extend", "check":
		return number(holds())
	case "release", "release-and-publish":
		yes := f.keys[words[3]] == words[4]
		if yes {
			delete(f.keys, words[3])
		}
		return number(yes)
	case "subscribe":
		mark := "*"
		if f.resp3 {
			mark = ">"
		}
		return fmt.Sprintf("%s3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n", mark, len(words[1]), words[1])
	case "get":
		if v := f.keys[words[1]]; v != "" {
			return fmt.Sprintf("$%d\r\n%s\r\n", len(v), v)
		}
		return "$-1\r\n"
	case "pttl":
		return ":1000\r\n"
	}
	return "+OK\r\n"
}

func (f *forger) forge(of, forged string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of, f.forged, f.forges = of, forged, 0
}

// forgeries are replies of every type of RESP2 and RESP3, and replies without a type.
var forgeries = []string{
	"+OK\r\n", "+1\r\n", "+\r\n", "-ERR no\r\n", "-MOVED 1 127.0.0.1:1\r\n", "-NOSCRIPT x\r\n", "-LOADING x\r\n",
	":1\r\n", ":0\r\n", ":-1\r\n", ":99\r\n", ":9223372036854775807\r\n", "$2\r\nOK\r\n", "$1\r\n1\r\n", "$0\r\n\r\n", "$-1\r\n", "$-7\r\n",
	"*-1\r\n", "*0\r\n", "*1\r\n:1\r\n", "*1\r\n:5\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n", "*3\r\n+message\r\n+a\r\n:1\r\n", "*2\r\n+pong\r\n:1\r\n",
	"_\r\n", "#t\r\n", "#f\r\n", ",1\r\n", ",1.5\r\n", "(1\r\n", "(99999999999999999999\r\n", "!6\r\nERR no\r\n", "=5\r\ntxt:1\r\n", "=6\r\ntxt:OK\r\n", "=1\r\nx\r\n",
	"%1\r\n+a\r\n:1\r\n", "~1\r\n:1\r\n", "|1\r\n+a\r\n+b\r\n:1\r\n", "|1\r\n+a\r\n+b\r\n+OK\r\n", ">1\r\n:1\r\n", ">2\r\n+x\r\n+y\r\n:1\r\n",
	">3\r\n$7\r\nmessage\r\n:1\r\n:2\r\n", ">4\r\n$6\r\nMOVING\r\n:1\r\n:5\r\n$11\r\n127.0.0.1:1\r\n+OK\r\n", "OK\r\n", "\r\n", "?\r\n",
}

// panics are replies at which go-redis panics.
var panics = []string{
	"$9223372036854775807\r\n", "=9223372036854775807\r\n", "!9223372036854775807\r\n", "*9223372036854775807\r\n", "~9223372036854775807\r\n",
	">9223372036854775807\r\n", "%9223372036854775807\r\n", "*1\r\n:5\r\n", ">1\r\n:1\r\n",
}

// unbearable are replies that go-redis cannot survive, or that never end: an … is sent for ever.
var unbearable = []string{
	"$9223372036854775807\r\n", ">9223372036854775807\r\n", "%9223372036854775807\r\n", "|9223372036854775807\r\n",
	"$42949672960\r\n", "*99999999999\r\n", ">99999999999\r\n", "%99999999999\r\n", strings.Repeat("*1\r\n", 1<<14), strings.Repeat(">1\r\n", 1<<14), strings.Repeat("|1\r\n", 1<<14),
	strings.Repeat("|0\r\n", 1<<14), "+" + strings.Repeat("a", 1<<17) + "\r\n", strings.Repeat("a", 1<<16) + "…",
}

// right reports whether a forged reply is one that a command can have, in the type or in the text
// that go-redis makes of it: no client can know that it is forged.
func right(of, forged string) bool {
	if i := strings.Index(forged, ":1\r\n"); of != "set" && (i == 0 || strings.HasPrefix(forged, "|1") && i > 0) {
		return true
	}
	switch forged {
	case ":99\r\n", ":9223372036854775807\r\n":
		return of == "set-and-count" || of == "wait"
	case "+1\r\n", "$1\r\n1\r\n", ",1\r\n", "(1\r\n", "=5\r\ntxt:1\r\n":
		return of != "set"
	case "+OK\r\n", "$2\r\nOK\r\n", "|1\r\n+a\r\n+b\r\n+OK\r\n", "=6\r\ntxt:OK\r\n":
		return of == "set"
	case ">2\r\n+x\r\n+y\r\n:1\r\n": // a push, and then the reply
		return of != "set"
	case ">4\r\n$6\r\nMOVING\r\n:1\r\n:5\r\n$11\r\n127.0.0.1:1\r\n+OK\r\n":
		return of == "set"
	}
	return false
}

// forgedTimeout is the timeout per master. Close waits as long for a master whose replies are forged.
const forgedTimeout = 2 * time.Second

// forgedWait is how long go-redis waits for a reply that does not come.
const forgedWait = 200 * time.Millisecond

// forgedLocks makes a Client for these masters.
func forgedLocks(t *testing.T, all []*forger, bounded bool, opts ...redlock.Option) (locks *redlock.Client, end func()) {
	t.Helper()
	var clients []*redis.Client
	for _, f := range all {
		o := &redis.Options{Addr: f.ln.Addr().String(), Protocol: 2, DialerRetries: 1, ReadTimeout: waittest.Limit, PipelinePoolSize: -1}
		f.mu.Lock()
		if f.of != "" {
			o.ReadTimeout = forgedWait
		}
		f.mu.Unlock()
		if f.resp3 {
			o.Protocol = 3
		}
		if bounded {
			o.Dialer = redlock.BoundedDialer(o)
		}
		clients = append(clients, redis.NewClient(o))
	}
	locks, err := redlock.New(clients, append([]redlock.Option{redlock.WithTTL(10 * time.Minute), redlock.WithTimeout(forgedTimeout)}, opts...)...)
	if err != nil {
		t.Error(err)
	}
	return locks, func() {
		locks.Close()
		for _, c := range clients {
			c.Close()
		}
	}
}

var forgedCommands = []string{"hello", "ping", "info", "set", "set-and-count", "raise", "extend", "release", "release-and-publish", "subscribe"}

// forgedOptions returns the options with which the lock sends a command. A release waits ten timeouts for a master
// that answers other commands.
func forgedOptions(of string) (opts []redlock.Option) {
	if strings.HasPrefix(of, "release") {
		opts = append(opts, redlock.WithTimeout(forgedTimeout/10))
	}
	switch of {
	case "set-and-count", "raise":
		opts = append(opts, redlock.WithFencing())
	case "release-and-publish", "subscribe":
		opts = append(opts, redlock.WithWakeups())
	case "wait":
		opts = append(opts, redlock.WithWait(1))
	}
	return opts
}

// forEachForgery runs f at the same time for each forged reply, in RESP2 and RESP3 by turns, each with
// three masters of its own.
func forEachForgery(t *testing.T, all []string, f func(masters []*forger, forged string)) {
	t.Helper()
	var wg sync.WaitGroup
	atOnce := make(chan struct{}, 8)
	tried := sampletest.Of(t, min(3, len(all)), min(2, len(all)))
	for i, forged := range all {
		if !tried(i) {
			continue
		}
		atOnce <- struct{}{}
		wg.Go(func() {
			defer func() { <-atOnce }()
			resp3 := (i+len(t.Name()))%2 == 0 || forged[0] == '>'
			f([]*forger{newForger(t, resp3), newForger(t, resp3), newForger(t, resp3)}, forged)
		})
	}
	wg.Wait()
}

// TestOneForgerOfThree: whatever one master answers to a command, the lock is granted, extended and
// released by the other two, and no other client gets it meanwhile.
func TestOneForgerOfThree(t *testing.T) {
	for _, of := range forgedCommands {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			forEachForgery(t, append(forgeries[:len(forgeries):len(forgeries)], unbearable...), func(masters []*forger, forged string) {
				masters[0].forge(of, forged)
				survivesForger(t, masters, true, of, forged)
			})
			forEachForgery(t, panics, func(masters []*forger, forged string) {
				masters[0].forge(of, forged)
				survivesForger(t, masters, false, of, forged)
			})
		})
	}
}

// survivesForger fails the test if the lock cannot be used. It tries a few times, because an honest
// master of this busy machine may be late.
func survivesForger(t *testing.T, masters []*forger, bounded bool, of, forged string) {
	locks, end := forgedLocks(t, masters, bounded, forgedOptions(of)...)
	defer end()
	if of == "ping" || of == "info" {
		_, _ = locks.Connect(t.Context())
	}
	var err error
	for range 5 {
		if err = pairWith(t, locks); err == nil {
			return
		}
	}
	t.Errorf("%.60q to %s, bounded %t: %v", forged, of, bounded, err)
}

// pairWith acquires, extends and releases a lock.
func pairWith(t *testing.T, locks *redlock.Client) error {
	lease, err := locks.Lock(t.Context(), "k")
	if err != nil {
		return err
	}
	if _, err := locks.TryLock(t.Context(), "k"); err == nil && lease.Context().Err() == nil {
		t.Error("two leases")
	}
	longer, err := lease.Extend(t.Context())
	if err != nil {
		return errors.Join(err, lease.Unlock(t.Context()))
	}
	return longer.Unlock(t.Context())
}

// TestForgedYesIsNoVote: a reply of a type that a command cannot have is an error of its master, and
// no yes. So two such masters of three can neither grant nor extend a lock, and one cannot grant a
// lock that another client holds on one of the others.
func TestForgedYesIsNoVote(t *testing.T) {
	for _, of := range []string{"set", "set-and-count", "extend", "release", "wait"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			forEachForgery(t, forgeries, func(masters []*forger, forged string) {
				if !right(of, forged) {
					refusesForgers(t, masters, of, forged)
				}
			})
		})
	}
}

func refusesForgers(t *testing.T, masters []*forger, of, forged string) {
	what := fmt.Sprintf("%.60q to %s", forged, of)
	masters[2].keys["held"] = "another client"
	locks, end := forgedLocks(t, masters, true, forgedOptions(of)...)
	defer end()
	var lease *redlock.Lease
	var err error
	if of == "extend" || of == "release" {
		lease, err = locks.Lock(t.Context(), what)
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	masters[0].forge(of, forged)
	if of == "set" || of == "set-and-count" {
		if _, err := locks.TryLock(t.Context(), "held"); err == nil {
			t.Errorf("%s: a lock that another client holds on one of two honest masters was granted", what)
		}
	}
	masters[1].forge(of, forged)
	switch of {
	case "extend":
		_, err = lease.Extend(t.Context())
	case "release":
		err = lease.Unlock(t.Context())
	default:
		_, err = locks.TryLock(t.Context(), what)
	}
	if err == nil {
		t.Errorf("%s by two of three masters counts as a yes", what)
	}
}

// TestForgedSizesAllocateNothing: a size that a reply announces is not allocated. The sizes are beyond what a machine has.
func TestForgedSizesAllocateNothing(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t.Run("at once", func(t *testing.T) {
		tried, number := sampletest.Of(t, 4, 2), 0
		for _, of := range []string{"set", "hello"} {
			for _, forged := range append(unbearable[:len(unbearable):len(unbearable)], panics...) {
				if number++; !tried(number) {
					continue
				}
				t.Run(fmt.Sprintf("%.20q to %s", forged, of), func(t *testing.T) {
					t.Parallel()
					masters := []*forger{newForger(t, true), newForger(t, true), newForger(t, true)}
					masters[0].forge(of, forged)
					survivesForger(t, masters, true, of, forged)
				})
			}
		}
	})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestConnectIgnoresAnEndlessReply: Connect returns although one master sends for ever.
func TestConnectIgnoresAnEndlessReply(t *testing.T) {
	masters := []*forger{newForger(t, true), newForger(t, true), newForger(t, true)}
	masters[0].forge("ping", ">2\r\n+x\r\n+y\r\n…")
	locks, end := forgedLocks(t, masters, false)
	defer end()
	waittest.Returns("Connect", func() {
		health, err := locks.Connect(t.Context())
		if err != nil || health[0].Err == nil || health[1].Err != nil {
			t.Error(health, err)
		}
	})
}

// TestForgedMessages: messages of a form that go-redis does not expect end neither the program nor
// the subscription to that master for ever.
func TestForgedMessages(t *testing.T) {
	forEachForgery(t, []string{"*1\r\n:5\r\n"}, func(masters []*forger, forged string) {
		for _, m := range masters {
			m.forge("subscribe", forged)
		}
		locks, end := forgedLocks(t, masters, false, redlock.WithWakeups())
		defer end()
		lease, err := locks.TryLock(t.Context(), "k")
		must(t, err)
		other, endOther := forgedLocks(t, masters, false, redlock.WithWakeups())
		defer endOther()
		done := make(chan error, 1)
		go func() {
			l, err := other.Lock(t.Context(), "k")
			done <- errors.Join(err, func() error {
				if err != nil {
					return nil
				}
				return l.Unlock(t.Context())
			}())
		}()
		forges := func() (n int) {
			for _, m := range masters {
				m.mu.Lock()
				n += m.forges
				m.mu.Unlock()
			}
			return n
		}
		waittest.Until(t, "it subscribes again", func() bool { return forges() > 1 })
		must(t, lease.Unlock(t.Context()))
		must(t, waittest.Receive(t, "the lock is granted", done))
	})
}
