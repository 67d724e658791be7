package shadow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/internal/waittest"
)

// fakeServer is a server that gives each command the reply of a function; an empty one ends the
// connection.
func fakeServer(t *testing.T, reply func(args []string) string) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				for r := newReader(c); ; {
					v, err := r.next()
					if err != nil {
						return
					}
					var args []string
					for _, e := range v.elems {
						args = append(args, string(e.text))
					}
					text := reply(args)
					if text == "" {
						return
					}
					if _, err := io.WriteString(c, text); err != nil {
						return
					}
				}
			})
		}
	})
	return ln.Addr().String()
}

// oldServer replies as Redis 7 does, as far as an account asks, except for one command.
func oldServer(command, reply string) func(args []string) string {
	return func(args []string) string {
		switch line := strings.Join(args, " "); {
		case strings.HasPrefix(line, command):
			return reply
		case args[0] == "EVAL":
			return ":2\r\n"
		case args[0] == "EXEC":
			return "*1\r\n:1\r\n"
		default:
			return "+OK\r\n"
		}
	}
}

func TestServersThatGiveNoAccount(t *testing.T) {
	monitor := "+OK\r\n"
	for _, l := range []string{`"SET" "lockpick:probe:1" "1" "PX" "60000"`, `"EVAL" "return redis.call('INCR', KEYS[1])" "1" "lockpick:probe:1"`} {
		monitor += "+1700000000.000000 [0 127.0.0.1:1] " + l + "\r\n" // and no events
	}
	for name, test := range map[string]struct{ command, reply, want string }{
		"Redis 5":          {"HELLO", "-ERR unknown command `HELLO`\r\n", "no account: HELLO 3: ERR unknown command `HELLO`"},
		"Redis 6":          {"CONFIG SET notify", "-ERR Invalid event class character. Use 'Ag$lszhxeKEtmd'.\r\n", "no account: CONFIG SET: ERR Invalid event class character. Use 'Ag$lszhxeKEtmd'."},
		"no permission":    {"MONITOR", "-NOPERM this user has no permissions to run the 'monitor' command\r\n", "no account: MONITOR: NOPERM this user has no permissions to run the 'monitor' command"},
		"another order":    {"MONITOR", monitor + strings.Repeat("+1700000000.000000 [0 lua] \"x\"\r\n", 20), "no account: " + errOrder.Error() + ": [SET EVAL x x x x x x x x x]"},
		"a closed socket":  {"PSUBSCRIBE", "", "no account: EOF"},
		"no Redis":         {"HELLO", "HTTP/1.1 400 Bad Request\r\n", "no account: " + errProtocol.Error()},
		"read-only server": {"SET lockpick", "-READONLY You can't write against a read only replica.\r\n", "no account: SET lockpick:probe:1: READONLY You can't write against a read only replica."},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(func(x cluster.Executed) { t.Errorf("a step: %+v", x) })
			defer a.Detach()
			err := a.Attach(t.Context(), Server{Addr: fakeServer(t, oldServer(test.command, test.reply))})
			if err == nil || err.Error() != test.want {
				t.Errorf("%v; want %s", err, test.want)
			}
			if err := a.Settled(t.Context()); !errors.Is(err, ErrDetached) {
				t.Errorf("settled: %v", err)
			}
		})
	}
}

func TestAttachGivesUpWithItsContext(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections and never replies
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	a := New(func(cluster.Executed) {})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, errors.New("over"))
	defer cancel()
	if err := a.Attach(ctx, Server{Addr: ln.Addr().String()}); err == nil || err.Error() != "over" {
		t.Errorf("attached: %v", err)
	}
	a.Detach()
}

// TestAccountBeginsWithTheKeysOfItsServer: also with those of other databases, and without those of the
// harness.
func TestAccountBeginsWithTheKeysOfItsServer(t *testing.T) {
	eachServer(t, func(t *testing.T, program string) {
		s := newTestServer(t, program)
		c := s.client()
		defer c.Close()
		long := strings.Repeat("x", maxText+1)
		if !c.send([]string{"SET", "k", "v\r\n\x00", "PX", "1000000"}, []string{"RPUSH", "l", "x"}, []string{"SET", "long", long}, []string{"SET", cluster.FillerPrefix + "1", "x"},
			[]string{"SELECT", "3"}, []string{"HSET", "k", "f", "v"}) {
			t.Fatal("the connection broke")
		}
		s.attach()
		steps := s.take()
		if len(steps) != 1 || len(steps[0].Changes) != 4 {
			t.Fatalf("%.300q", fmt.Sprint(steps))
		}
		want := "k restored string \"v\\r\\n\\x00\", l restored list \"\", long restored string \"\", db3:k restored hash \"\", "
		got := ""
		for _, c := range steps[0].Changes {
			got += fmt.Sprintf("%s %s %s %q, ", c.Key, c.Kind, c.Type, c.Value)
			if (c.Left > 0) != (c.Key == "k") || (c.Doubtful != "") != (c.Key == "long") {
				t.Errorf("%+v", c)
			}
		}
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// TestAClientSwitchesEventsOff: the account notices that, and switches them on again without taking away
// what the client wants.
func TestAClientSwitchesEventsOff(t *testing.T) {
	eachServer(t, func(t *testing.T, program string) {
		s := newTestServer(t, program)
		s.attach()
		c := s.client()
		defer c.Close()
		c.send([]string{"SET", "k", "1"}, []string{"CONFIG", "SET", "notify-keyspace-events", "Ex"}, []string{"SET", "k", "2"})
		waittest.Until(t, "a snapshot has told the value that had no event", func() bool {
			return s.copied("k") == entry{kind: "string", text: "2"}
		})
		c.send([]string{"CONFIG", "GET", "notify-keyspace-events"})
		if flags := string(c.last().elems[1].text); !strings.Contains(flags, "K") || !strings.Contains(flags, "E") {
			t.Errorf("the events are %q", flags)
		}
		s.take()
		c.send([]string{"SET", "k", "3"})
		s.settle()
		steps := s.take()
		last := steps[len(steps)-1]
		if len(last.Changes) != 1 || last.Changes[0].Before != "2" || last.Changes[0].Doubtful != "" {
			t.Errorf("%+v", last)
		}
	})
}
