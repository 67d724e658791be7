package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/internal/wiretest"
)

// steps collects the account of the first master of a cluster.
type steps struct {
	g   *group
	mu  sync.Mutex
	all []cluster.Executed
}

func follow(t *testing.T, g *group) *steps {
	t.Helper()
	s := &steps{g: g}
	err := g.Account(func(master int, x cluster.Executed) {
		if master == 0 {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.all = append(s.all, x)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// take returns the steps so far, as text, and forgets them. names replaces addresses.
func (s *steps) take(t *testing.T, names map[string]string) string {
	t.Helper()
	if err := s.g.Settled(within(t, 10*time.Second), 0); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, x := range s.all {
		who, known := names[x.Conn]
		if x.Conn != "" && !known {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", who, strings.Join(x.Args, " "))
		if x.Gap != "" {
			fmt.Fprintf(&b, "  gap: %s\n", x.Gap)
		}
		for _, c := range x.Calls {
			fmt.Fprintf(&b, "  calls %s\n", strings.Join(c, " "))
		}
		for _, c := range x.Changes {
			fmt.Fprintf(&b, "  %s %s %s %q before %q left %v", c.Key, c.Kind, c.Type, c.Value, c.Before, c.Left.Round(10*time.Second))
			if c.Doubtful != "" {
				fmt.Fprintf(&b, " doubtful: %s", c.Doubtful)
			}
			b.WriteString("\n")
		}
	}
	s.all = nil
	return b.String()
}

// ownAddress returns the address of a connection as its master sees it.
func ownAddress(t *testing.T, c net.Conn) string {
	t.Helper()
	wiretest.Say(t, c, "CLIENT INFO\r\n")
	head, err := readLine(c)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(head[1:])
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(c, body); err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(string(body)) {
		if addr, ok := strings.CutPrefix(f, "addr="); ok {
			return addr
		}
	}
	t.Fatalf("no address in %q", body)
	return ""
}

// readLine reads no more than a line.
func readLine(r io.Reader) (string, error) {
	var b []byte
	for !bytes.HasSuffix(b, []byte("\r\n")) {
		var one [1]byte
		if _, err := r.Read(one[:]); err != nil {
			return "", err
		}
		b = append(b, one[0])
	}
	return string(b[:len(b)-2]), nil
}

func TestAccountNamesTheConnectionAndTheCommand(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		g := start(t, driver, cluster.Config{Masters: 1})
		s := follow(t, g)
		c := dial(t, g.masters[0].now())
		names := map[string]string{ownAddress(t, c): "c1"}
		for _, command := range []string{
			"SET k a PX 60000 NX", "SET k b NX",
			`EVAL "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end" 1 k a`,
			"MULTI", "SET n 1", "INCR n", "EXEC",
			"HSET h f v", "PEXPIRE h 60000",
		} {
			wiretest.Say(t, c, command+"\r\n")
		}
		wiretest.Hear(t, c, "+OK\r\n$-1\r\n:1\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:2\r\n:1\r\n:1\r\n")
		want := `c1: AUTH (redacted)
c1: CLIENT INFO
c1: SET k a PX 60000 NX
  k created string "a" before "" left 1m0s
c1: SET k b NX
c1: EVAL if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end 1 k a
  calls get k
  calls del k
  k deleted string "" before "a" left 0s
c1: MULTI
c1: EXEC
  calls SET n 1
  calls INCR n
  n created string "1" before "" left 0s
  n changed string "2" before "1" left 0s
c1: HSET h f v
  h created hash "" before "" left 0s
c1: PEXPIRE h 60000
  h ttl hash "" before "" left 1m0s
`
		if got := s.take(t, names); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestAccountSaysWhatARestartLost(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		for _, p := range []cluster.Persistence{cluster.None, cluster.Always} {
			g := start(t, driver, cluster.Config{Masters: 1, Persistence: p})
			m := g.masters[0]
			s := follow(t, g)
			c := dial(t, m.now())
			wiretest.Say(t, c, "SET k a PX 600000\r\nSET short b PX 1\r\n")
			wiretest.Hear(t, c, "+OK\r\n+OK\r\n")
			eventually(t, "the key has expired", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return slices.ContainsFunc(s.all, func(x cluster.Executed) bool { return len(x.Changes) > 0 && x.Changes[0].Kind == cluster.Expired })
			})
			s.take(t, nil)
			must(t, m.Kill)
			if err := g.Settled(within(t, time.Second), 0); err == nil {
				t.Error("settled, while the master is down")
			}
			must(t, m.Start)
			want := ": \n  gap: the server was started again, or another one took its place\n"
			if p == cluster.None {
				want += "  k lost string \"\" before \"a\" left 0s\n"
			}
			if got := s.take(t, nil); got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", p, got, want)
			}
		}
	})
}

func TestSettledFailsForAPausedMaster(t *testing.T) {
	needs(t, "process")
	g := start(t, "process", cluster.Config{Masters: 1})
	s := follow(t, g)
	m := g.masters[0]
	must(t, m.Pause)
	if err := g.Settled(within(t, time.Second), 0); err == nil {
		t.Error("settled, while the master is paused")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.account.shadow.Load().Settled(ctx); err == nil {
		t.Error("the server has answered, although it is paused")
	}
	must(t, m.Resume)
	s.take(t, nil)
}
