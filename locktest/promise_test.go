package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/search"
)

// plain is the lock on one master whose lease states nothing but its release. change adds to the lease.
func plain(m *redis.Client, env Env, change func(ctx context.Context, l *Lease, key, token string)) LockFunc {
	return func(ctx context.Context, key string) (*Lease, error) {
		for ctx.Err() == nil {
			token := rand.Text()
			ok, err := m.Do(ctx, "set", key, token, "nx", "px", env.TTL.Milliseconds()).Text()
			if err == nil && ok == "OK" {
				l := &Lease{Release: func(ctx context.Context) error { return deleteOwn.Run(ctx, m, []string{key}, token).Err() }}
				if change != nil {
					change(ctx, l, key, token)
				}
				return l, nil
			}
			if !errors.Is(err, redis.Nil) {
				_ = deleteOwn.Run(context.WithoutCancel(ctx), m, []string{key}, token).Err()
			}
			time.Sleep(20 * time.Millisecond)
		}
		return nil, ctx.Err()
	}
}

// enact runs a lock for some seconds. change may be nil.
func enact(t *testing.T, lock func(Env) (Lock, error), change func(*scenario.Scenario), options ...Option) (*history.History, error) {
	t.Helper()
	c := prepare(t, "Explore", nil, lock, append([]Option{Masters(1), Faults()}, options...))
	c.base.TimeLimit = 10 * time.Second
	if change != nil {
		change(&c.base)
	}
	return (&runner{t: t}).run(t.Context(), c.base.WithRequirements())
}

// TestALeaseWithoutAnEnd: nobody promised that it lasts for a TTL from when Acquire returned, so it counts from when
// the command was sent that was granted, however long the acquire waited.
func TestALeaseWithoutAnEnd(t *testing.T) {
	h, err := enact(t, func(env Env) (Lock, error) { return plain(env.Clients()[0], env, nil), nil }, func(s *scenario.Scenario) {
		s.Schedule = []scenario.Step{{Fault: "slow", Masters: []string{"m1"}, For: 8 * time.Second}}
	}, Faults("slow"))
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]time.Duration{} // by token: when its SET was sent
	leases, late := 0, 0
	for _, op := range h.Ops {
		switch {
		case op.F == history.FVote && op.Value.Command == history.CommandSet && op.Value.Yes:
			sent[op.Value.Token] = op.Time - op.Value.Delay - op.Value.Took
		case op.F == history.FAcquire && op.Type == history.OK:
			leases++
			if want := sent[op.Value.Token] + h.Header.TTL*19/20; (op.Value.ValidUntil - want).Abs() > time.Millisecond {
				t.Errorf("a lease lasts until %v, want %v", op.Value.ValidUntil, want)
			}
			if op.Time > sent[op.Value.Token]+5*time.Millisecond {
				late++
			}
		}
	}
	if leases < 10 || late == 0 {
		t.Errorf("%d leases, of which %d arrived late", leases, late)
	}
}

// TestALeaseUntilItIsLost: a lock that promises to tell of the end, and no time, is not judged by how long its key lives.
func TestALeaseUntilItIsLost(t *testing.T) {
	h, err := enact(t, func(env Env) (Lock, error) {
		return plain(env.Clients()[0], env, func(_ context.Context, l *Lease, _, _ string) { l.Lost = context.Background() }), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := judge.History(h)
	if err != nil {
		t.Fatal(err)
	}
	if x := r.ResultsFor([]string{"min-validity"}); len(x) > 0 {
		t.Errorf("min-validity is judged: %s", x[0].Why)
	}
	if why := r.Untested["min-validity"]; !strings.Contains(why, "promise no time") {
		t.Errorf("min-validity is not tested: %s", why)
	}
}

// TestALockThatIsUsedWronglyIsRefused: the run ends and says what to change.
func TestALockThatIsUsedWronglyIsRefused(t *testing.T) {
	for says, lock := range map[string]func(Env) (Lock, error){
		"Lease.Lost ends with the context of Acquire": func(env Env) (Lock, error) {
			return plain(env.Clients()[0], env, func(ctx context.Context, l *Lease, _, _ string) {
				var end context.CancelFunc
				l.Lost, end = context.WithCancel(ctx)
				release := l.Release
				l.Release = func(ctx context.Context) error { end(); return release(ctx) }
			}), nil
		},
		"Release or Extend uses the context of Acquire": func(env Env) (Lock, error) {
			return plain(env.Clients()[0], env, func(ctx context.Context, l *Lease, _, _ string) {
				release := l.Release
				l.Release = func(context.Context) error { return release(ctx) }
			}), nil
		},
		"neither an error nor a lease with a Release": func(env Env) (Lock, error) {
			return plain(env.Clients()[0], env, func(_ context.Context, l *Lease, _, _ string) { l.Release = nil }), nil
		},
		"It opened no connection through Env.Dial": func(Env) (Lock, error) {
			return LockFunc(func(context.Context, string) (*Lease, error) {
				time.Sleep(time.Millisecond)
				return nil, errors.New("dial tcp 240.0.1.1:6379: connect: network is unreachable")
			}), nil
		},
	} {
		_, err := enact(t, lock, nil)
		var problem *scenario.Problem
		if !errors.As(err, &problem) || problem.Field != "lock" || !strings.Contains(problem.Says, says) {
			t.Errorf("got %v, want the lock refused: %s", err, says)
		}
	}
}

// watched is a lock whose goroutine extends each lease until it is released or the lock is closed.
type watched struct {
	LockFunc
	close func()
}

func (w watched) Close() error { w.close(); return nil }

// TestACrashClosesTheLock: nothing of a client that has crashed goes on to extend its lease.
func TestACrashClosesTheLock(t *testing.T) {
	var most atomic.Int64 // extensions of one lease that its goroutine sent
	h, err := enact(t, func(env Env) (Lock, error) {
		life, end := context.WithCancel(context.Background())
		m := env.Clients()[0]
		lock := plain(m, env, func(_ context.Context, l *Lease, key, token string) {
			lost, stop := context.WithCancel(life)
			l.Lost = lost
			release := l.Release
			l.Release = func(ctx context.Context) error { stop(); return release(ctx) }
			go func() {
				for n := int64(1); ; n++ {
					select {
					case <-lost.Done():
						return
					case <-time.After(env.TTL / 4):
						most.Store(max(most.Load(), n))
						_ = prolongOwn.Run(context.Background(), m, []string{key}, token, env.TTL.Milliseconds()).Err()
					}
				}
			}()
		})
		return watched{lock, end}, nil
	}, func(s *scenario.Scenario) {
		s.Clients = 2
		s.Schedule = []scenario.Step{{At: time.Second, Fault: "client-kill", Clients: []string{"c1"}, Point: "before-enter", For: 6 * time.Second}}
	}, Faults("client-kill"))
	if err != nil {
		t.Fatal(err)
	}
	var crash, back time.Duration
	for _, op := range h.Ops {
		switch {
		case op.F == history.FCrash:
			crash = op.Time
		case crash > 0 && back == 0 && op.Process == "c1" && op.F == history.FAcquire:
			back = op.Time
		case crash > 0 && back == 0 && op.F == history.FVote && op.Value.Client == "c1" && op.Value.Command == history.CommandExtend && op.Time > crash+100*time.Millisecond:
			t.Errorf("it crashed at %v, and extended at %v", crash, op.Time)
		}
	}
	if crash == 0 || back < crash+time.Second {
		t.Fatalf("it crashed at %v and was back at %v", crash, back)
	}
	if n := most.Load(); n > 7 { // in a section that lasts for as long as one can; while the client is down it would be 12
		t.Errorf("a goroutine of the lock extended a lease %d times", n)
	}
}

var takeHash = redis.NewScript(`if redis.call("exists", KEYS[1]) == 1 then return 0 end
redis.call("hset", KEYS[1], ARGV[1], 1)
return redis.call("pexpire", KEYS[1], ARGV[2])`)

// TestNamesOfLeasesAfterACrash: a lock that states no token, and stores none that could be one, is named by the harness. A client
// that comes back after a crash gives no name a second time, which would violate unique-tokens.
func TestNamesOfLeasesAfterACrash(t *testing.T) {
	h, err := enact(t, func(env Env) (Lock, error) {
		m := env.Clients()[0]
		return LockFunc(func(ctx context.Context, key string) (*Lease, error) {
			for ctx.Err() == nil {
				if n, err := takeHash.Run(ctx, m, []string{key}, env.Client, env.TTL.Milliseconds()).Int(); err == nil && n == 1 {
					return &Lease{Release: func(ctx context.Context) error { return m.HDel(ctx, key, env.Client).Err() }}, nil
				}
				time.Sleep(20 * time.Millisecond)
			}
			return nil, ctx.Err()
		}), nil
	}, func(s *scenario.Scenario) {
		s.Clients = 2
		s.Schedule = []scenario.Step{{At: 3 * time.Second, Fault: "client-kill", Clients: []string{"c1"}, Point: "before-enter", For: 2 * time.Second}}
	}, Faults("client-kill"))
	if err != nil {
		t.Fatal(err)
	}
	crashed, seen := false, map[string]bool{}
	for _, op := range h.Ops {
		crashed = crashed || op.F == history.FCrash
		if op.F == history.FAcquire && op.Type == history.OK {
			if seen[op.Value.Token] {
				t.Errorf("two leases have the name %s", op.Value.Token)
			}
			seen[op.Value.Token] = true
		}
	}
	if !crashed || len(seen) < 5 {
		t.Fatalf("crashed: %v, names %v", crashed, seen)
	}
}

// TestGoRedisWithItsDefaults: its maintenance notifications, retries and pool work in a bubble.
func TestGoRedisWithItsDefaults(t *testing.T) {
	Explore(t, func(env Env) (Lock, error) {
		m := redis.NewClient(&redis.Options{Addr: env.Addrs[0], Dialer: env.Dial})
		return watched{plain(m, env, nil), func() { _ = m.Close() }}, nil
	}, Masters(1), Schedules(60))
}

// numbers is a script that acquires the lock with a number from a counter.
var numbers = redis.NewScript(`if redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then return redis.call("incr", KEYS[1] .. ":fence") end return 0`)

// TestFencingTokens: the tokens of a lock are judged, and one whose tokens do not grow is convicted.
func TestFencingTokens(t *testing.T) {
	for name, constant := range map[string]bool{"growing": false, "constant": true} {
		lock := func(env Env) (Lock, error) {
			m := env.Clients()[0]
			return LockFunc(func(ctx context.Context, key string) (*Lease, error) {
				for ctx.Err() == nil {
					began, token := time.Now(), rand.Text()
					n, err := numbers.Run(ctx, m, []string{key}, token, env.TTL.Milliseconds()).Int64()
					if err == nil && n > 0 {
						if constant {
							n = 7
						}
						return &Lease{Token: token, Until: began.Add(env.TTL - env.TTL/50), Fence: n,
							Release: func(ctx context.Context) error { return deleteOwn.Run(ctx, m, []string{key}, token).Err() }}, nil
					}
					time.Sleep(20 * time.Millisecond)
				}
				return nil, ctx.Err()
			}), nil
		}
		h, err := enact(t, lock, nil, Fencing(), Properties("FM", "L5"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := judge.History(h)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := r.FirstViolation([]string{"FM"})
		if n := len(r.ResultsFor([]string{"FM"})); n == 0 || (v != nil) != constant {
			t.Errorf("%s tokens: %v, judged: %d", name, v, n)
		}
		if len(r.ResultsFor([]string{"L5"})) == 0 {
			t.Errorf("%s tokens: L5 is not judged", name)
		}
	}
}

// TestFencingWithoutATokenSaysWhatIsMissing: a test has no flag --fencing, and it has the option already.
func TestFencingWithoutATokenSaysWhatIsMissing(t *testing.T) {
	lock := func(env Env) (Lock, error) {
		m := env.Clients()[0]
		return LockFunc(func(ctx context.Context, key string) (*Lease, error) {
			token, until := rand.Text(), time.Now().Add(env.TTL)
			if ok, err := m.SetNX(ctx, key, token, env.TTL).Result(); err != nil || !ok {
				return nil, errors.Join(err, errors.New("taken"))
			}
			return &Lease{Token: token, Until: until, Release: func(ctx context.Context) error { return deleteOwn.Run(ctx, m, []string{key}, token).Err() }}, nil
		}), nil
	}
	for _, property := range []string{"FM", "L5"} {
		c := prepare(t, "Explore", nil, lock, []Option{Masters(1), Fencing(), Properties(property), Schedules(3)})
		r := &runner{t: t}
		found, err := search.Explore(t.Context(), search.ExploreOptions{Base: c.base, Schedules: c.schedules, Properties: c.base.Properties, Run: r.run})
		if err != nil {
			t.Fatal(err)
		}
		if got := why(found); !strings.Contains(got, "had a fencing token") || strings.Contains(got, "--fencing") {
			t.Errorf("%s: %s", property, got)
		}
	}
}

// TestOptionsThatAFunctionDoesNotUseAreErrors: they would change nothing, and their user would not know.
func TestOptionsThatAFunctionDoesNotUseAreErrors(t *testing.T) {
	for _, c := range []struct {
		function string
		used     []string
		option   Option
		want     string
	}{
		{"Fuzz", usedByFuzz, RealRedis(), "Fuzz does not use the option RealRedis"},
		{"Fuzz", usedByFuzz, For(time.Second), "Fuzz does not use the option For"},
		{"Audit", usedByAudit, Faults("kill"), "Audit does not use the option Faults"},
		{"Replay", usedByRun, Clients(2), "Replay does not use the option Clients, only RealRedis, Fencing"},
		{"Replay", usedByRun, RealRedis(), ""},
		{"Explore", nil, RestartDelay(time.Second), ""},
	} {
		given := config{}
		c.option(&given)
		err := given.ignored(c.function, c.used)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.function, err, c.want)
		}
	}
}

// TestClocksOfClientsAreNotSkewed: the lock reads the time of the bubble, so that a fault of a client's clock would change only
// what the harness makes of the lease's end.
func TestClocksOfClientsAreNotSkewed(t *testing.T) {
	c := prepare(t, "Explore", nil, simple, []Option{Masters(1)})
	s := c.base
	s.Faults = []string{"client-clock"}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "reads the time by itself") {
		t.Errorf("%v", err)
	}
}
