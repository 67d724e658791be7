//go:build real

package process

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/internal/waittest"
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

// take returns the steps so far, as text, and forgets them. names has the clients by address.
func (s *steps) take(t *testing.T, names *sync.Map) string {
	t.Helper()
	if err := s.g.Settled(within(t, 10*time.Second), 0); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, x := range s.all {
		who, known := names.Load(x.Conn)
		if x.Conn == "" {
			who, known = "m1", true
		}
		if !known || len(x.Args) > 0 && (x.Args[0] == "AUTH" || x.Args[0] == "CLIENT") { // the link's introduction
			continue
		}
		if x.Apart {
			who = fmt.Sprint(who, " apart")
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

// connect connects a client to the first master through its link. names gets the address of the connection.
func connect(t *testing.T, g *group, client string, names *sync.Map) net.Conn {
	t.Helper()
	l, err := g.Link(client, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.(cluster.Observable).Observe(cluster.Observer{
		Opened:   func(conn string) { names.Store(conn, client) },
		Exchange: func(cluster.Exchange) {},
		Lost:     func(error) {},
	})
	c, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestAccountNamesTheConnectionAndTheCommand(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		g := start(t, driver, cluster.Config{Masters: 1})
		s := follow(t, g)
		var names sync.Map
		c := connect(t, g, "c1", &names)
		for _, command := range []string{
			"SET k a PX 60000 NX", "SET k b NX",
			`EVAL "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end" 1 k a`,
			"MULTI", "SET n 1", "INCR n", "EXEC",
			"HSET h f v", "PEXPIRE h 60000",
		} {
			wiretest.Say(t, c, command+"\r\n")
		}
		wiretest.Hear(t, c, "+OK\r\n$-1\r\n:1\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:2\r\n:1\r\n:1\r\n")
		want := `c1: SET k a PX 60000 NX
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
		if got := s.take(t, &names); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestAccountSaysWhatARestartLost(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		for _, p := range []cluster.Persistence{cluster.None, cluster.Always} {
			if driver == "docker" && p != cluster.None {
				continue
			}
			g := start(t, driver, cluster.Config{Masters: 1, Persistence: p})
			m := g.masters[0]
			s := follow(t, g)
			c := dial(t, m.now())
			wiretest.Say(t, c, "SET k a PX 600000\r\nSET short b PX 1\r\n")
			wiretest.Hear(t, c, "+OK\r\n+OK\r\n")
			waittest.Until(t, "the key has expired", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return slices.ContainsFunc(s.all, func(x cluster.Executed) bool { return len(x.Changes) > 0 && x.Changes[0].Kind == cluster.Expired })
			})
			s.take(t, &sync.Map{})
			must(t, m.Kill)
			if err := g.Settled(within(t, time.Second), 0); err == nil {
				t.Error("settled, while the master is down")
			}
			must(t, m.Start)
			want := "m1: \n  gap: the server was started again, or another one took its place\n"
			if p == cluster.None {
				want += "  k lost string \"\" before \"a\" left 0s\n"
			}
			if got := s.take(t, &sync.Map{}); got != want {
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
	s.take(t, &sync.Map{})
}

func TestAccountFollowsThePromotedServer(t *testing.T) {
	needs(t, "process")
	g := start(t, "process", cluster.Config{Masters: 1, Replicas: 1})
	m, s := g.masters[0], follow(t, g)
	var names sync.Map
	c1, c2 := connect(t, g, "c1", &names), connect(t, g, "c2", &names)
	wiretest.Say(t, c1, "SET kept 1\r\nWAIT 1 10000\r\n")
	wiretest.Hear(t, c1, "+OK\r\n:1\r\n")
	must(t, func(ctx context.Context) error { return m.HoldReplication(ctx, true) })
	wiretest.Say(t, c2, "SET lost 1\r\n")
	wiretest.Hear(t, c2, "+OK\r\n")
	want := `c1: SET kept 1
  kept created string "1" before "" left 0s
c1: WAIT 1 10000
c2: SET lost 1
  lost created string "1" before "" left 0s
`
	if got := s.take(t, &names); got != want {
		t.Errorf("before the failover: got\n%s\nwant\n%s", got, want)
	}

	// c1 stays with the old primary.
	must(t, func(ctx context.Context) error { return m.Failover(ctx, cluster.Takeover{Apart: []string{"c1"}}) })
	wiretest.Say(t, c1, "SET lost 2\r\n")
	wiretest.Hear(t, c1, "+OK\r\n")
	waittest.Until(t, "the old primary goes on with its account", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.ContainsFunc(s.all, func(x cluster.Executed) bool { return x.Apart })
	})
	c2 = connect(t, g, "c2", &names)
	wiretest.Say(t, c2, "SET new 1\r\n")
	wiretest.Hear(t, c2, "+OK\r\n")
	want = `m1: 
  gap: the server was started again, or another one took its place
  lost lost string "" before "1" left 0s
c1 apart: SET lost 2
  lost changed string "2" before "1" left 0s
c2: SET new 1
  new created string "1" before "" left 0s
`
	if got := s.take(t, &names); got != want {
		t.Errorf("after the failover: got\n%s\nwant\n%s", got, want)
	}

	// The old primary becomes a replica: what it gets is not in the account a second time.
	must(t, m.Start)
	s.take(t, &names)
	c1 = connect(t, g, "c1", &names)
	wiretest.Say(t, c1, "DEL new\r\nWAIT 1 10000\r\n")
	wiretest.Hear(t, c1, ":1\r\n:1\r\n")
	want = `c1: DEL new
  new deleted string "" before "1" left 0s
c1: WAIT 1 10000
`
	if got := s.take(t, &names); got != want {
		t.Errorf("after the end of the split brain: got\n%s\nwant\n%s", got, want)
	}
}

// TestAccountLeavesOutTheHarness: snapshots and junk of the harness are not in the account, but that junk
// evicts a client's key is.
func TestAccountLeavesOutTheHarness(t *testing.T) {
	needs(t, "process")
	g := start(t, "process", cluster.Config{Masters: 1, MaxMemory: 16 << 20, Eviction: "allkeys-random"})
	m, s := g.masters[0], follow(t, g)
	c := dial(t, m.now())
	for i := range 2000 {
		wiretest.Say(t, c, fmt.Sprintf("SET k%d 1\r\n", i))
		wiretest.Hear(t, c, "+OK\r\n")
	}
	s.take(t, &sync.Map{})
	if _, err := m.Inspect(within(t, time.Minute), []string{"k1"}); err != nil {
		t.Fatal(err)
	}
	must(t, func(ctx context.Context) error { return m.FillMemory(ctx, 24<<20) }, m.DrainMemory)
	if err := g.Settled(within(t, 10*time.Second), 0); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	evicted := 0
	for _, x := range s.all {
		for _, c := range x.Changes {
			if c.Kind == cluster.Evicted && strings.HasPrefix(c.Key, "k") && c.Before == "1" && c.Doubtful == "" {
				evicted++
			} else {
				t.Errorf("%+v: %+v", x, c)
			}
		}
		if len(x.Changes) == 0 && x.Args[0] != "AUTH" {
			t.Errorf("a step of the harness: %.200q", x.Args)
		}
	}
	if evicted == 0 {
		t.Error("no key was evicted")
	}
}

// TestAccountGoesOnWhenItsConnectionIsKilled: a client may do that.
func TestAccountGoesOnWhenItsConnectionIsKilled(t *testing.T) {
	needs(t, "process")
	g := start(t, "process", cluster.Config{Masters: 1})
	m, s := g.masters[0], follow(t, g)
	c := dial(t, m.now())
	wiretest.Say(t, c, "SET k 1\r\n")
	wiretest.Hear(t, c, "+OK\r\n")
	s.take(t, &sync.Map{})
	wiretest.Say(t, c, "CLIENT KILL TYPE pubsub\r\n")
	wiretest.Hear(t, c, ":1\r\n")
	waittest.Until(t, "the account goes on", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.all) > 0
	})
	want := "m1: \n  gap: the connection to the server broke\n"
	if got := s.take(t, &sync.Map{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAccountUnderSkewedClocks: deadlines are on the master's clock, wherever that jumps, and a key expires
// when the master says so.
func TestAccountUnderSkewedClocks(t *testing.T) {
	needs(t, "process")
	g := start(t, "process", cluster.Config{Masters: 1, Persistence: cluster.Always})
	if err := g.Shim(); err != nil {
		t.Skip(err)
	}
	m, s := g.masters[0], follow(t, g)
	c := dial(t, m.now())
	for i, offset := range []time.Duration{time.Hour, -time.Hour, 10 * time.Second, -10 * time.Second} {
		for _, skewed := range []cluster.Clock{{Offset: offset}, {Offset: offset, Rate: 3}, {}} {
			key := fmt.Sprintf("k%d", i)
			wiretest.Say(t, c, fmt.Sprintf("SET %s 1 PX 60000\r\nSET short 1 PX 5000\r\nEVAL \"return redis.call('PEXPIRE', KEYS[1], 6000000)\" 1 %s\r\n", key, key))
			wiretest.Hear(t, c, "+OK\r\n+OK\r\n:1\r\n")
			must(t, func(ctx context.Context) error { return m.SetClock(ctx, skewed) })
			wiretest.Say(t, c, "EXISTS "+key+"\r\n")
			wiretest.Hear(t, c, ":1\r\n")
		}
	}
	wiretest.Say(t, c, "SET kept 1 PX 6000000\r\n")
	wiretest.Hear(t, c, "+OK\r\n")
	// What is on disk has the deadlines that the account has.
	settle := func(ctx context.Context) error { return g.Settled(ctx, 0) }
	must(t, settle, m.Kill, m.Start, settle)
	expired := 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.all {
		for _, c := range x.Changes {
			if c.Kind == cluster.Expired {
				expired++
			}
			if c.Doubtful != "" || c.Kind == cluster.Restored || c.Kind == cluster.Lost {
				t.Errorf("%q: %+v", x.Args, c)
			}
		}
	}
	if expired == 0 {
		t.Error("no key has expired, although the clock went forward by an hour")
	}
}

// within is a context for what must not take long.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
