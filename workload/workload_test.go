package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/history"
	"lockpick/redlock/protocol"
)

func two(lock Implementation) Config {
	return Config{
		Lock: lock, Clients: 2, Keys: 3, TTL: time.Second, HoldMax: 100 * time.Millisecond, Think: 10 * time.Millisecond,
		AcquireTimeout: time.Second, Seed: 1,
	}
}

// TestMutualExclusion: on healthy masters the redlock's clients take turns, all get
// theirs, and everything ends when the time is up.
func TestMutualExclusion(t *testing.T) {
	for _, kind := range Locks {
		if kind.Twin != "" || kind.Kind != "" {
			continue // it is wrong on purpose, or of another kind, and has a test of its own
		}
		name := kind.Name
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lock, ok := LockNamed(name)
				if !ok {
					t.Fatal("not found")
				}
				cfg := two(lock)
				cfg.Clients, cfg.Fencing = 4, true
				m := newMasters(5)
				s := on(t, cfg, share(m))
				s.Run(s.ending(6 * time.Second))
				if ended := s.runtime.Now().Sub(s.start); ended > 8*time.Second {
					t.Errorf("ended after %v", ended)
				}
				leases := history.Leases(s.ops)
				slices.SortFunc(leases, func(a, b *history.Lease) int {
					return strings.Compare(a.Key, b.Key)<<32 + int(a.Acquired()-b.Acquired())
				})
				granted := map[string]int{}
				for i, l := range leases {
					granted[l.Process]++
					if i > 0 && leases[i-1].Key == l.Key && leases[i-1].Left > l.Entered && l.EnterIndex >= 0 {
						t.Errorf("%s was inside %s until %v, %s entered at %v", leases[i-1].Process, l.Key, leases[i-1].Left, l.Process, l.Entered)
					}
				}
				if len(granted) != 4 || len(leases) < 30 {
					t.Errorf("%d leases, by client: %v", len(leases), granted)
				}
				for _, op := range s.ops {
					if op.F == history.FApply && op.Type == history.Fail {
						t.Errorf("a write was rejected: %s", line(op))
					}
				}
				votes := map[string]bool{}
				for _, v := range history.Votes(s.ops) {
					votes[v.Master] = true
				}
				if want := kind.Quorum(5); len(votes) != 2*want-1 || !votes["m1"] {
					t.Errorf("votes of %v", votes)
				}
				if err := s.Close(); err != nil || m.closed.Load() != 4 {
					t.Errorf("Close: %v, the masters were closed %d times by 4 clients", err, m.closed.Load())
				}
			})
		})
	}
}

// TestStaleWrite: what a pause between check and write does to the resource, and that
// the fenced twin rejects it.
func TestStaleWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock, _ := LockNamed("redlock")
		cfg := two(lock)
		cfg.Keys, cfg.Fencing = 1, true
		s := on(t, cfg, share(newMasters(3)))
		resume := s.Pauses.Stop(nil, BeforeWrite) // whoever is the first
		var stopped []string
		s.runtime.AfterFunc(3*time.Second, func() { stopped = resume() })
		s.Run(s.ending(4 * time.Second))
		synctest.Wait()
		stale, rejected := 0, 0
		highest := int64(0)
		for _, op := range s.ops {
			switch {
			case op.F != history.FApply:
			case !op.Value.Fenced:
				if op.Value.Fence < highest {
					stale++
				}
				highest = max(highest, op.Value.Fence)
			case op.Type == history.Fail:
				rejected++
				if by := fmt.Sprintf("c%d", op.Value.Value/1_000_000); op.Time != 3*time.Second || !slices.Equal(stopped, []string{by}) {
					t.Errorf("rejected: %s", line(op))
				}
			}
		}
		if stale != 1 || rejected != 1 {
			t.Errorf("%d stale writes, %d rejected", stale, rejected)
		}
	})
}

// TestAfterQuorum: a client stops there when it has won a quorum for a lease, and
// neither when it lost one nor when it extends.
func TestAfterQuorum(t *testing.T) {
	for _, c := range []struct {
		name  string
		order time.Duration // when the order comes: the client is inside until 1.5 s
		mute  bool
		stops time.Duration
	}{
		{"acquire", 0, false, time.Millisecond},
		{"extend", 100 * time.Millisecond, false, -1},
		{"no quorum", 0, true, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lock, _ := LockNamed("redlock")
				cfg := two(lock)
				cfg.Clients, cfg.Keys, cfg.Extend, cfg.HoldMin, cfg.HoldMax = 1, 1, 1, 1500*time.Millisecond, 1500*time.Millisecond
				m := newMasters(3)
				m.silence(c.mute, 0, 1)
				s := on(t, cfg, share(m))
				s.runtime.AfterFunc(c.order, func() {
					resume := s.Pauses.Stop([]string{"c1"}, AfterQuorum)
					s.runtime.AfterFunc(time.Second, func() { resume() })
				})
				s.Run(s.ending(time.Second))
				stopped, extended := time.Duration(-1), false
				for _, op := range s.of("c1") {
					if op.F == history.FPaused && op.Type == history.Invoke {
						stopped = op.Time
					}
					extended = extended || op.F == history.FExtend
				}
				if stopped != c.stops || extended != (c.name == "extend") {
					t.Errorf("stopped at %v, want %v; extended %v", stopped, c.stops, extended)
				}
			})
		})
	}
}

// TestExtendWithoutNeed: a lease that is long enough is extended too, a fifth as often.
func TestExtendWithoutNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := two(fake(func(*fakeLock) {}))
		cfg.Extend = 1
		s := on(t, cfg, nil)
		s.Run(s.ending(60 * time.Second))
		count := map[string]int{}
		for _, op := range s.ops {
			count[op.F+" "+string(op.Type)]++
		}
		if share := float64(count["extend ok"]) / float64(count["write ok"]); share < 0.15 || share > 0.25 {
			t.Errorf("%d extensions in %d steps", count["extend ok"], count["write ok"])
		}
	})
}

// TestVotes: a vote that never came is unknown, with its reason.
func TestVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock, _ := LockNamed("redlock")
		cfg := two(lock)
		cfg.Clients, cfg.Keys, cfg.Fencing = 1, 1, true
		m := newMasters(3)
		m.silence(true, 1)
		m.all[2].keys["k0"] = stored{"another's", time.Now().Add(500 * time.Millisecond)}
		s := on(t, cfg, share(m))
		s.Run(s.ending(time.Second))
		got := map[string]string{}
		for _, v := range history.Votes(s.ops) {
			if _, known := got[v.Master]; !known && v.Command == history.CommandSet {
				got[v.Master] = map[bool]string{true: "yes", false: "no"}[v.Yes] + " " + v.Error
				if v.Unknown != (v.Error != "") || v.Client != "c1" || v.Key != "k0" || v.Took != m.latency {
					t.Errorf("%+v", v)
				}
			}
		}
		if got["m1"] != "yes " || got["m2"] != "no "+errSilent.Error() || got["m3"] != "no " {
			t.Errorf("%v", got)
		}
		if len(history.Leases(s.ops)) == 0 {
			t.Error("two of three masters never made a lease")
		}
	})
}

func TestVisit(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(*fakeLock)
		ending  time.Duration
		granted int
		failed  int
		took    time.Duration
	}{
		{"free", func(l *fakeLock) { l.latency = 10 * time.Millisecond }, time.Hour, 6, 0, 60 * time.Millisecond},
		{"never granted", func(l *fakeLock) { l.never = true }, time.Hour, 0, 6, 6 * time.Second},
		{"interrupted", func(l *fakeLock) { l.never = true }, 3 * time.Second, 0, 4, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := on(t, two(fake(c.prepare)), nil)
				s.FinalCheck(s.ending(c.ending), 2*time.Second)
				count := map[string]int{}
				visited := map[string]int{}
				for _, op := range s.ops {
					count[op.F+" "+string(op.Type)]++
					if op.F == history.FAcquire && op.Type == history.Invoke {
						visited[op.Process+" "+op.Key]++
					}
				}
				if count["acquire ok"] != c.granted || count["release ok"] != c.granted || count["acquire fail"] != c.failed || count["enter info"] > 0 {
					t.Errorf("%v", count)
				}
				for k, n := range visited {
					if n != 1 {
						t.Errorf("%s was visited %d times", k, n)
					}
				}
				if took := s.runtime.Now().Sub(s.start); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if s.of("c1")[0].Key == s.of("c2")[0].Key {
					t.Error("both clients begin with the same key")
				}
			})
		})
	}
}

// TestRunEnds: Run returns when the time is up and every client has stopped, also one
// that a pause keeps.
func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(t, two(fake(func(*fakeLock) {})), nil)
		resume := s.Pauses.Stop([]string{"c2"}, BeforeEnter)
		s.runtime.AfterFunc(10*time.Second, func() { resume() })
		s.Run(s.ending(5 * time.Second))
		if took := s.runtime.Now().Sub(s.start); took != 10*time.Second {
			t.Errorf("ended after %v", took)
		}
		for _, op := range s.of("c1") {
			if op.Time > 5*time.Second {
				t.Errorf("c1 went on: %s", line(op))
			}
		}
		last := s.of("c2")[len(s.of("c2"))-1]
		if last.F != history.FRelease || last.Type != history.OK {
			t.Errorf("c2 stopped with %s", line(last))
		}
	})
	synctest.Test(t, func(t *testing.T) { // nobody, and no time
		cfg := two(fake(func(*fakeLock) {}))
		over, end := context.WithCancel(t.Context())
		end()
		s := on(t, cfg, nil)
		s.Run(over)
		cfg.Clients = 0
		on(t, cfg, nil).Run(over)
		if len(s.ops) > 0 {
			t.Errorf("%d operations", len(s.ops))
		}
	})
}

// TestNewFails: whose lock cannot be made is named, and the locks made before are closed.
func TestNewFails(t *testing.T) {
	errNo := errors.New("no way")
	rec := history.NewMemory(history.Header{}, func() time.Duration { return 0 })
	var made []*fakeLock
	cfg := two(fake(func(l *fakeLock) { made = append(made, l) }))
	env := func(client string) (Env, error) {
		if client == "c2" {
			return Env{}, errNo
		}
		return Env{}, nil
	}
	if _, err := New(cfg, protocol.RealTime{}, rec, time.Now(), env); !errors.Is(err, errNo) || !strings.Contains(err.Error(), "c2") {
		t.Errorf("got %v", err)
	}
	cfg.Lock.New = func(s Env) (Lock, error) {
		if s.Client == "c2" {
			return nil, errNo
		}
		l := &fakeLock{env: s}
		made = append(made, l)
		return l, nil
	}
	w, err := New(cfg, protocol.RealTime{}, rec, time.Now(), func(string) (Env, error) { return Env{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Open(); !errors.Is(err, errNo) || !strings.Contains(err.Error(), "c2") {
		t.Errorf("got %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if len(made) != 1 || made[0].closed != 1 {
		t.Errorf("%d locks were made, not all closed once", len(made))
	}
}

// TestLocks: what the registry promises.
func TestLocks(t *testing.T) {
	if _, ok := LockNamed("no such lock"); ok {
		t.Error("found a lock that is not there")
	}
	for _, k := range Locks {
		if k.Summary == "" || strings.Contains(k.Summary, "\n") {
			t.Errorf("%s: the summary is not a line", k.Name)
		}
		// On real addresses, to which nothing is sent yet.
		s := Env{Client: "c1", Addrs: []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, Runtime: protocol.RealTime{}, TTL: time.Second}
		l, err := k.New(s)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		if err := l.Close(); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		if _, err := k.New(Env{Runtime: protocol.RealTime{}, TTL: time.Second}); err == nil {
			t.Errorf("%s: a lock without masters was made", k.Name)
		}
	}
}

// TestErrorsOfMastersAreAnswers: a master that replies with an error has answered. Any other error leaves open what it did.
func TestErrorsOfMastersAreAnswers(t *testing.T) {
	for err, want := range map[error]history.Type{
		redisError("OOM command not allowed"):                       history.OK,
		fmt.Errorf("m1: %w", redisError("NOPERM no permission")):    history.OK,
		context.DeadlineExceeded:                                    history.Info,
		errors.New("MISCONF is only a text here, and of no master"): history.Info,
	} {
		op := VoteOp("c1", protocol.Vote{Purpose: protocol.Release, Key: "k0", Token: "t", Err: err}, false)
		if op.Type != want || op.Error != err.Error() || op.Value.Yes {
			t.Errorf("%v: %s, error %q, yes %v; want %s", err, op.Type, op.Error, op.Value.Yes, want)
		}
	}
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}
