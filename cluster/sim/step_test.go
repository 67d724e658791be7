package sim

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/sim/world"
)

// stepCommands are what the scripts and transactions of these tests are made of: some write, some fail in the middle, and
// some are allowed while the memory is full.
var stepCommands = []string{
	"set a 1", "set b x", "incr a", "incr b", "rpush l 1 2", "lpop l", "hset h f 1", "hincrby h f 1", "del a", "del b l", "get a", "pexpire a 100000", "sadd s x", "zadd z 1 x", "lpush a x", "expire h 100",
}

// drawSteps draws the commands of one script or transaction.
func drawSteps(r *rand.Rand) []string {
	var all []string
	for range 1 + r.IntN(4) {
		all = append(all, stepCommands[r.IntN(len(stepCommands))])
	}
	return all
}

// scriptOf returns a script that calls commands; an error ends it, or is ignored.
func scriptOf(commands []string, call string) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "redis.%s('%s')\n", call, strings.ReplaceAll(c, " ", "','"))
	}
	return b.String() + "return 1"
}

// TestScriptsAndTransactionsAreAtomicLikeReal runs random scripts and transactions on a real master and on a simulated one,
// some of them while the memory is full, and kills both in between. Replies and keys must be the same.
func TestScriptsAndTransactionsAreAtomicLikeReal(t *testing.T) {
	there := realMaster(t, cluster.Always)
	ctx := t.Context()
	rounds := 0
	for began := time.Now(); time.Since(began) < 3*time.Second; rounds++ {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 1))
		w := world.New(1)
		c := New(w, cluster.Config{Masters: 1, Admin: true, Persistence: cluster.Always, MaxMemory: 1 << 30, Eviction: "noeviction"}, Options{})
		here := simulatedServer{c.masters[0]}
		connection := &session{}
		var done []string
		both := func(words ...string) error {
			here.admit()
			answer := connection.answer(nil, here.Master, words)
			here.pass(here.settle())
			real, simulated := plain(words, there.do(words)), plain(words, spell(&answer))
			if done = append(done, strings.Join(words, " ")); real != simulated {
				return fmt.Errorf("%q: real %s, simulated %s", done, real, simulated)
			}
			return nil
		}
		limit := func(bytes string, here int64) error {
			c.config.MaxMemory = here
			done = append(done, "maxmemory "+bytes)
			return errors.Join(there.client.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err(), there.client.ConfigSet(ctx, "maxmemory", bytes).Err())
		}
		state := func() error {
			return errors.Join(both("get", "a"), both("get", "b"), both("lrange", "l", "0", "-1"), both("hget", "h", "f"), both("smembers", "s"), both("zrange", "z", "0", "-1"))
		}
		var differs error
		err := w.Run(func() {
			differs = errors.Join(limit("0", 1<<30), both("flushall"))
			for n := 0; n < 12 && differs == nil; n++ {
				commands := drawSteps(r)
				if full := r.IntN(3) == 0; full {
					differs = limit("1", 1)
				} else {
					differs = limit("0", 1<<30)
				}
				switch r.IntN(3) {
				case 0:
					differs = errors.Join(differs, both("multi"))
					for _, c := range commands {
						differs = errors.Join(differs, both(strings.Fields(c)...))
					}
					differs = errors.Join(differs, both("exec"))
				case 1:
					differs = errors.Join(differs, both("eval", scriptOf(commands, "call"), "0"))
				default:
					differs = errors.Join(differs, both("eval", scriptOf(commands, "pcall"), "0"))
				}
				if r.IntN(8) == 0 {
					done = append(done, "kill")
					for _, m := range []cluster.Master{there, here} {
						differs = errors.Join(differs, m.Kill(ctx), m.Start(ctx))
					}
				}
				differs = errors.Join(differs, state())
			}
		})
		if err = errors.Join(err, differs); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%d rounds", rounds)
}

// TestNothingTearsAStep runs random scripts. A replica, and what a torn power cut leaves, must at all times be what the keys
// were after one of them.
func TestNothingTearsAStep(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := world.New(seed)
		c := New(w, cluster.Config{Masters: 1, Replicas: 1, Persistence: cluster.Everysec}, Options{})
		m := c.masters[0]
		states := []map[string]keyspace.Value{{}}
		whole := func(what string, keys map[string]keyspace.Value) {
			if !slices.ContainsFunc(states, func(s map[string]keyspace.Value) bool {
				return maps.EqualFunc(s, keys, func(a, b keyspace.Value) bool { return a.Same(&b) })
			}) {
				t.Errorf("seed %d: %s has %v, which the keys never were", seed, what, keys)
			}
		}
		if err := w.Run(func() {
			for range 20 {
				m.admit()
				m.execute("eval", []string{scriptOf(drawSteps(r), "pcall"), "0"})
				m.settle()
				states = append(states, m.store.All())
				m.pass(time.Duration(r.IntN(1000)) * time.Microsecond)
				m.replicas[0].catchUp(w.Now())
				whole("the replica", m.replicas[0].keys)
			}
			if err := m.Kill(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := m.CutPower(t.Context(), cluster.Power{Torn: true}); err != nil {
				t.Error(err)
			}
			whole("the disk", m.disk.base)
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnknownCommandsAreReported: alone, in a script and as a subcommand.
func TestUnknownCommandsAreReported(t *testing.T) {
	for _, x := range []struct{ command, want string }{
		{"geoadd k 1 2 x", "GEOADD"}, {"script debug no", "SCRIPT DEBUG"}, {"script kill", ""}, {"flushall", ""}, {"config get save", ""}, {"get k", ""}, {"move k 1", "MOVE BETWEEN DATABASES"}, {"copy k l db 2", "COPY BETWEEN DATABASES"}, {"object encoding s", "OBJECT ENCODING"}, {"object encoding k", ""}, {"object help", "OBJECT HELP"},
		{"command list", ""}, {"command list filterby aclcat read", "COMMAND LIST"}, {"command docs", ""}, {"cluster info", ""}, {"get", ""}, {"eval return(redis.call('lolwut')) 0", "LOLWUT"},
	} {
		w := world.New(1)
		c := New(w, oneMaster, Options{})
		got := ""
		c.OnUnmodelled(func(master, what string) { got = what })
		c.masters[0].execute("set", []string{"s", "text"})
		words := strings.Fields(x.command)
		if c.masters[0].execute(words[0], words[1:]); got != x.want {
			t.Errorf("%s: %q was reported, not %q", x.command, got, x.want)
		}
	}
}

// TestWaitingWithoutAConnectionIsReported: a blocking command that finds something is like any other.
func TestWaitingWithoutAConnectionIsReported(t *testing.T) {
	got := ""
	on(t, cluster.Config{}, Options{}, func(b *bench) {
		b.c.OnUnmodelled(func(_, what string) { got = what })
		b.do("rpush", "l", "x")
		if v := b.do("brpoplpush", "l", "l", "0"); got != "" || v.Err == nil || !strings.Contains(v.Err.Error(), "x") {
			t.Errorf("%q was reported although there is an element (%v)", got, v.Err)
		}
		b.do("blpop", "none", "1")
	})
	if !strings.HasPrefix(got, "BLPOP") {
		t.Errorf("%q was reported", got)
	}
}

// TestOtherDatabasesAreReported: only the first one is modelled.
func TestOtherDatabasesAreReported(t *testing.T) {
	c := New(world.New(1), oneMaster, Options{})
	got := ""
	c.OnUnmodelled(func(_, what string) { got = what })
	for _, x := range []struct{ db, want string }{{"0", ""}, {"16", ""}, {"x", ""}, {"3", "SELECT 3"}} {
		if (&session{}).answer(nil, c.masters[0], []string{"SELECT", x.db}); got != x.want {
			t.Errorf("SELECT %s: %q was reported, not %q", x.db, got, x.want)
		}
	}
}
