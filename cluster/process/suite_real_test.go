//go:build real

package process

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"lockpick/cluster"
	"lockpick/internal/sampletest"
	"lockpick/internal/waittest"
	"lockpick/internal/wiretest"
)

// The tests of this file state what every driver with real masters does.

// eachDriver runs a test with one of the drivers that this host can run, or with each of them if SAMPLE=all.
func eachDriver(t *testing.T, test func(t *testing.T, driver string)) {
	t.Helper()
	var here, missing []string
	for _, driver := range []string{"process", "docker"} {
		if ok, why := available(t, driver); ok {
			here = append(here, driver)
		} else {
			missing = append(missing, why)
		}
	}
	if len(here) == 0 {
		t.Skip(strings.Join(missing, "; "))
	}
	tried := sampletest.Of(t, 1, len(here))
	for i, driver := range here {
		if tried(i) {
			t.Run(driver, func(t *testing.T) { test(t, driver) })
		}
	}
}

func available(t testing.TB, driver string) (ok bool, why string) {
	if driver == "docker" {
		return DockerDriver.Available(t.Context(), "")
	}
	return Available(t.Context())
}

// needs skips a test, and says why, where a driver can not run.
func needs(t testing.TB, driver string) {
	t.Helper()
	if ok, why := available(t, driver); !ok {
		t.Skip(why)
	}
}

func starter(driver string) func(context.Context, cluster.Config) (cluster.Cluster, error) {
	if driver == "docker" {
		return DockerDriver.Start
	}
	return Start
}

// start starts a cluster for a test.
func start(t *testing.T, driver string, cfg cluster.Config) *group {
	t.Helper()
	c, err := starter(driver)(within(t, time.Minute), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c.(*group)
}

// one starts a single master.
func one(t *testing.T, driver string, p cluster.Persistence) (*group, *master, *redis.Client) {
	t.Helper()
	g := start(t, driver, cluster.Config{Masters: 1, Persistence: p})
	return g, g.masters[0], direct(t, g.masters[0].now())
}

// client is a client of a link.
func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := newInspectionClient(addr, "", "", cluster.Dial)
	t.Cleanup(func() { c.Close() })
	return c
}

// direct is a client of a server that no link is in the way of.
func direct(t *testing.T, s *server) *redis.Client {
	t.Helper()
	c := newInspectionClient(s.addr, s.Password, "", cluster.Dial)
	t.Cleanup(func() { c.Close() })
	return c
}

// dial connects to a server that no link is in the way of.
func dial(t testing.TB, s *server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	wiretest.Say(t, c, "AUTH "+s.Password+"\r\n")
	wiretest.Hear(t, c, "+OK\r\n")
	return c
}

// must runs calls on a master one after the other.
func must(t *testing.T, calls ...func(context.Context) error) {
	t.Helper()
	for _, call := range calls {
		if err := call(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
}

func set(t *testing.T, c *redis.Client, key, value string) {
	t.Helper()
	if err := c.Set(t.Context(), key, value, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

// stored says what a master stores under a key.
func stored(t *testing.T, m *master, key string) (string, bool) {
	t.Helper()
	found, err := m.Inspect(within(t, 10*time.Second), []string{key})
	if err != nil {
		t.Fatal(err)
	}
	v, ok := found.Keys[key]
	return v, ok
}

func TestPersistenceKeepsWhatItPromises(t *testing.T) {
	keeps := map[cluster.Persistence]struct{ shutdown, kill bool }{
		cluster.None:     {false, false},
		cluster.RDB:      {true, false},
		cluster.Everysec: {true, true}, // what was written survives the process; not the power
		cluster.Always:   {true, true},
	}
	eachDriver(t, func(t *testing.T, driver string) {
		for _, p := range cluster.Persistences {
			t.Run(string(p), func(t *testing.T) {
				t.Parallel()
				_, m, c := one(t, driver, p)
				set(t, c, "a", "1")
				must(t, m.Shutdown, m.Start)
				if _, kept := stored(t, m, "a"); kept != keeps[p].shutdown {
					t.Errorf("after SIGTERM: kept %v, want %v", kept, keeps[p].shutdown)
				}
				must(t, m.Kill, m.Start) // a server of RDB has just read a snapshot: let it forget
				c = direct(t, m.now())
				set(t, c, "b", "1")
				must(t, m.Kill, m.Start)
				if _, kept := stored(t, m, "b"); kept != keeps[p].kill {
					t.Errorf("after SIGKILL: kept %v, want %v", kept, keeps[p].kill)
				}
			})
		}
	})
}

// The trap of every pause: the master accepts what it can not answer, and acts
// on it when nobody waits for it any more.
func TestAPausedMasterAppliesLateRequests(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		g, m, _ := one(t, driver, cluster.None)
		l, err := g.Link("c1", 0)
		if err != nil {
			t.Fatal(err)
		}
		must(t, m.Pause)
		c, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		wiretest.Say(t, c, "SET late 1\r\n")
		wiretest.Silent(t, c)
		c.Close()
		if _, err := m.Inspect(t.Context(), nil); !errors.Is(err, cluster.ErrPaused) {
			t.Fatalf("look at a paused master: %v", err)
		}
		must(t, m.Resume)
		waittest.Until(t, "the request is applied", func() bool { _, ok := stored(t, m, "late"); return ok })
	})
}

func TestAMasterKilledWhilePausedAppliesNothingMore(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		_, m, client := one(t, driver, cluster.Always)
		set(t, client, "before", "1")
		c := dial(t, m.now())
		wiretest.Say(t, c, "PING\r\n")
		wiretest.Hear(t, c, "+PONG\r\n")
		must(t, m.Pause)
		wiretest.Say(t, c, "SET late 1\r\n")
		must(t, m.Kill)
		if s := m.State(); s != cluster.Down {
			t.Fatalf("state %s after kill", s)
		}
		must(t, m.Start)
		if _, ok := stored(t, m, "before"); !ok {
			t.Error("what was stored before is lost")
		}
		if _, ok := stored(t, m, "late"); ok {
			t.Error("it ran on before it died")
		}
	})
}

func TestAHeldLinkDeliversARequestAfterItsClientGaveUp(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		g, m, _ := one(t, driver, cluster.None)
		l, err := g.Link("c1", 0)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := g.Link("c1", 0); again != l {
			t.Fatal("a client has one link to a master")
		}
		l.Set(cluster.LinkFault{Requests: cluster.Hold, Replies: cluster.Hold})
		c := newInspectionClient(l.Addr(), "", "", cluster.Dial)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		// Without its handshake, whose replies go-redis waits for.
		raw, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		wiretest.Say(t, raw, "SET late 1\r\n")
		if err := c.Set(ctx, "never sent", "1", 0).Err(); err == nil {
			t.Fatal("SET went through a partition")
		}
		c.Close()
		raw.Close()
		waittest.Until(t, "it is held", func() bool { return l.Counts().Held > 0 })
		if _, ok := stored(t, m, "late"); ok {
			t.Fatal("it passed")
		}
		l.Set(cluster.LinkFault{})
		waittest.Until(t, "it arrives", func() bool { _, ok := stored(t, m, "late"); return ok })
	})
}

func TestALinkServesTheSameMasterOverItsRestarts(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		g, m, _ := one(t, driver, cluster.None)
		l, err := g.Link("c1", 0)
		if err != nil {
			t.Fatal(err)
		}
		addr := m.now().addr
		c := client(t, l.Addr())
		set(t, c, "a", "1")
		must(t, m.Kill)
		if err := c.Ping(t.Context()).Err(); err == nil {
			t.Fatal("PING was answered by a master that is down")
		}
		time.Sleep(20 * time.Millisecond)
		must(t, m.Start)
		if m.now().addr != addr {
			t.Fatalf("it moved from %s to %s", addr, m.now().addr)
		}
		set(t, client(t, l.Addr()), "a", "2")
	})
}

func TestLookSaysWhichRunAndWhichKeys(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		_, m, c := one(t, driver, cluster.Always)
		set(t, c, "a", "1")
		set(t, c, "empty", "")
		c.LPush(t.Context(), "list", "x")
		first, err := m.Inspect(t.Context(), []string{"a", "missing", "list", "empty"})
		if err != nil {
			t.Fatal(err)
		}
		if len(first.Keys) != 2 || first.Keys["a"] != "1" {
			t.Fatalf("keys %q", first.Keys)
		}
		if first.Tokens() != nil {
			t.Errorf("a list that nobody can read is not evidence, but there are %q", first.Tokens())
		}
		set(t, c, "bytes", "\xff\x00a")
		if b, err := m.Inspect(t.Context(), []string{"a", "bytes"}); err != nil || b.Tokens()["bytes"] != `\xff\x00a` || b.Tokens()["a"] != "1" {
			t.Errorf("%+v, %v; want tokens as votes write them", b, err)
		}
		if len(first.Expires) != 0 {
			t.Errorf("keys without a TTL end at %v", first.Expires)
		}
		c.Set(t.Context(), "mortal", "1", 30*time.Second)
		mortal, err := m.Inspect(t.Context(), []string{"a", "mortal"})
		if end := mortal.Expires["mortal"]; err != nil || len(mortal.Expires) != 1 || !end.After(mortal.Time) || end.After(mortal.Time.Add(30*time.Second)) {
			t.Errorf("%+v, %v; want mortal to end within 30 s", mortal, err)
		}
		if again, err := m.Inspect(t.Context(), nil); err != nil || again.RunID != first.RunID || len(again.RunID) != 40 {
			t.Fatalf("%+v, %v; want run %s", again, err, first.RunID)
		}
		must(t, m.Kill)
		if _, err := m.Inspect(t.Context(), nil); !errors.Is(err, cluster.ErrDown) {
			t.Fatalf("look at a master that is down: %v", err)
		}
		must(t, m.Start)
		if after, err := m.Inspect(t.Context(), nil); err != nil || after.RunID == first.RunID {
			t.Fatalf("%+v, %v; want another run", after, err)
		}
	})
}

// Any sequence of calls does what a model of three states says.
func TestStatesFollowTheCalls(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		checks := "12"
		if driver == "docker" { // where each step takes 30 times as long
			checks = "2"
		}
		f := flag.Lookup("rapid.checks")
		defer f.Value.Set(f.Value.String())
		f.Value.Set(checks)
		_, m, _ := one(t, driver, cluster.None)
		ctx := within(t, time.Minute)
		state, runs := cluster.Up, map[string]bool{}
		type call struct {
			name string
			do   func(context.Context) error
			to   map[cluster.State]cluster.State // where it leads; an absent state is an error
		}
		calls := []call{
			{"pause", m.Pause, map[cluster.State]cluster.State{cluster.Up: cluster.Paused, cluster.Paused: cluster.Paused}},
			{"resume", m.Resume, map[cluster.State]cluster.State{cluster.Up: cluster.Up, cluster.Paused: cluster.Up}},
			{"kill", m.Kill, map[cluster.State]cluster.State{cluster.Up: cluster.Down, cluster.Paused: cluster.Down, cluster.Down: cluster.Down}},
			{"shutdown", m.Shutdown, map[cluster.State]cluster.State{cluster.Up: cluster.Down, cluster.Paused: cluster.Down, cluster.Down: cluster.Down}},
			{"start", m.Start, map[cluster.State]cluster.State{cluster.Up: cluster.Up, cluster.Down: cluster.Up}},
		}
		rapid.Check(t, func(r *rapid.T) {
			for range 10 {
				c := rapid.Custom(func(r *rapid.T) call {
					return calls[rapid.IntRange(0, len(calls)-1).Draw(r, "call")]
				}).Draw(r, "step")
				err := c.do(ctx)
				to, ok := c.to[state]
				if !ok {
					to = state
				}
				if ok != (err == nil) || m.State() != to {
					r.Fatalf("%s a master that is %s: %v, and now it is %s; want %s", c.name, state, err, m.State(), to)
				}
				found, err := m.Inspect(ctx, nil)
				if (err == nil) != (to == cluster.Up) {
					r.Fatalf("look at a master that is %s: %v", to, err)
				}
				if started := state == cluster.Down && to == cluster.Up; started && runs[found.RunID] {
					r.Fatalf("run %s answers again", found.RunID)
				}
				runs[found.RunID] = true
				state = to
			}
		})
	})
}

func TestCallsOnOneMasterTakeTurns(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		_, m, _ := one(t, driver, cluster.None)
		ctx := within(t, time.Minute)
		var all sync.WaitGroup
		for range 3 {
			for _, call := range []func(context.Context) error{m.Pause, m.Kill, m.Start, m.Resume} {
				all.Go(func() { // in whatever order: each one is whole
					if err := call(ctx); err != nil && !errors.Is(err, cluster.ErrDown) && !errors.Is(err, cluster.ErrPaused) {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		must(t, m.Kill, m.Start)
		if _, err := m.Inspect(ctx, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestAMasterThatDiesByItselfIsDown(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		_, m, c := one(t, driver, cluster.None)
		c.ShutdownNoSave(t.Context())
		waittest.Until(t, "it is down", func() bool { return m.State() == cluster.Down })
		must(t, m.Start)
		if _, err := m.Inspect(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAMasterThatDoesNotComeBackSaysWhy(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		g, m, c := one(t, driver, cluster.Always)
		set(t, c, "a", "1")
		must(t, m.Kill)
		files, err := filepath.Glob(filepath.Join(g.root, "m1", "data", "appendonlydir", "*.manifest"))
		if err != nil || len(files) != 1 {
			t.Fatalf("manifests %v, %v", files, err)
		}
		if err := os.WriteFile(files[0], []byte("torn"), 0o644); err != nil {
			t.Fatal(err)
		}
		err = m.Start(within(t, time.Minute))
		if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "start m1") || !strings.Contains(err.Error(), "manifest") {
			t.Fatalf("start on a torn manifest: %v", err)
		}
		if s := m.State(); s != cluster.Down {
			t.Errorf("state %s", s)
		}
	})
}

func TestAStartThatIsCalledOffLeavesTheMasterDown(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		_, m, _ := one(t, driver, cluster.None)
		for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 100 * time.Millisecond} {
			must(t, m.Kill)
			ctx, cancel := context.WithTimeout(t.Context(), after)
			err := m.Start(ctx)
			cancel()
			_, answers := net.Dial("tcp", m.now().addr)
			if up := m.State() == cluster.Up; up != (err == nil) || up != (answers == nil) {
				t.Fatalf("called off after %v: %v; it is %s; dial: %v", after, err, m.State(), answers)
			}
		}
		must(t, m.Start)
	})
}

func TestATakenPortIsReplacedAtTheFirstStart(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		g := start(t, driver, cluster.Config{Masters: 1})
		for _, holder := range []string{"a listener", "another master"} {
			taken := g.masters[0].now().addr
			if holder == "a listener" {
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer ln.Close()
				taken = ln.Addr().String()
			}
			_, port, _ := net.SplitHostPort(taken)
			s := Site{Name: "x" + port, Home: filepath.Join(g.root, "x"+port), Log: filepath.Join(g.root, "x.log"), Password: "of-this-one-alone"}
			fmt.Sscan(port, &s.Port)
			m, err := g.first(within(t, time.Minute), s, anotherBuild(t, g))
			if m != nil {
				defer m.remove()
			}
			if err != nil {
				t.Fatalf("with a port that %s has: %v", holder, err)
			}
			if m.now().addr == taken || m.State() != cluster.Up {
				t.Fatalf("with a port that %s has: %s at %s", holder, m.State(), m.now().addr)
			}
		}
	})
}

func TestAConfigurationThatCanNotBeIsRefused(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		for _, cfg := range []cluster.Config{{Masters: -1}, {Persistence: "sometimes"}, {LogDir: "/dev/null/logs"}, {MaxMemory: -1}, {MaxMemory: 1 << 20, Eviction: "all"}, {Eviction: "allkeys-lru"}, {Replicas: 3}} {
			c, err := starter(driver)(t.Context(), cfg)
			if err == nil {
				c.Close()
				t.Errorf("%+v was accepted", cfg)
			}
		}
	})
}
