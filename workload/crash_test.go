package workload

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/history"
)

// one is a single client that stays in its section for as long as its lease allows.
func one(lock Implementation) Config {
	return Config{
		Lock: lock, Clients: 1, Keys: 1, TTL: time.Second, HoldMin: 5 * time.Second, HoldMax: 5 * time.Second, Think: time.Millisecond,
		AcquireTimeout: time.Minute, Seed: 1,
	}
}

// brief is one that has the time to write.
func brief(lock Implementation) Config {
	cfg := one(lock)
	cfg.HoldMin, cfg.HoldMax = 100*time.Millisecond, 100*time.Millisecond
	return cfg
}

// TestKill: a client that ended neither leaves nor releases, records nothing until it is
// revived, and then begins with another lock. An acquire in which it ended has no
// outcome.
func TestKill(t *testing.T) {
	const revived = 10 * time.Second
	for _, c := range []struct {
		point   string
		process bool
		before  []string // it did
		token   bool     // it had a lease
	}{
		{BeforeEnter, false, []string{"acquire invoke", "acquire ok"}, true},
		{BeforeWrite, false, []string{"acquire invoke", "acquire ok", "enter info", "read ok"}, true},
		{AfterQuorum, true, []string{"acquire invoke"}, false},
		{BeforeEnter, true, []string{"acquire invoke", "acquire ok"}, true},
		{BeforeWrite, true, []string{"acquire invoke", "acquire ok", "enter info", "read ok", "write invoke"}, true},
		{"", true, []string{"acquire invoke", "acquire ok", "enter info", "read ok"}, true},
	} {
		t.Run(map[bool]string{false: "goroutine ", true: "process "}[c.process]+c.point, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var locks []*fakeLock
				lock := fake(func(l *fakeLock) { locks = append(locks, l) })
				var made []*fakeProcess
				if c.process {
					lock = processes(&made, func(p *fakeProcess) { p.points = true; locks = append(locks, p.fakeLock) })
				}
				cfg := one(lock)
				if c.point == BeforeWrite {
					cfg = brief(lock)
				}
				s := on(t, cfg, nil)
				var affected []string
				s.runtime.AfterFunc(map[bool]time.Duration{true: 100 * time.Millisecond}[c.point == ""], func() {
					revive := s.Pauses.Kill([]string{"c1"}, c.point)
					s.runtime.AfterFunc(revived-time.Since(s.start), func() { affected = revive() })
				})
				if c.point != "" {
					synctest.Wait()
				}
				s.Run(s.ending(revived + time.Second))
				synctest.Wait()

				ops := s.of("c1")
				i := slices.IndexFunc(ops, func(op history.Op) bool { return op.F == history.FCrash })
				if i < 0 {
					t.Fatalf("it never ended: %q", steps(ops))
				}
				crash, after := ops[i], ops[i+1:]
				if got := steps(ops[:i]); !slices.Equal(got, c.before) {
					t.Errorf("before it ended: %q, want %q", got, c.before)
				}
				point := c.point
				if point == "" {
					point = anywhere
				}
				if crash.Type != history.Info || crash.Key != "k0" || crash.Value.Point != point || (crash.Value.Token == "t1") != c.token {
					t.Errorf("it ended with %s", line(crash))
				}
				if len(after) > 0 && after[0].F == history.FWrite && c.process { // what was under way is not known
					if after[0].Type != history.Info {
						t.Errorf("its write came to %s", line(after[0]))
					}
					after = after[1:]
				}
				if len(after) == 0 || after[0].F != history.FAcquire || after[0].Type != history.Invoke || after[0].Time < revived {
					t.Errorf("after it ended: %q", steps(after))
				}
				if !slices.Equal(affected, []string{"c1"}) {
					t.Errorf("struck %v", affected)
				}
				if len(locks) != 2 || locks[0].closed != 1 || locks[1].made == 0 {
					t.Errorf("%d locks were made", len(locks))
				}
				for _, op := range s.of(history.Resource) {
					if op.Time < revived {
						t.Errorf("it wrote: %s", line(op))
					}
				}
				if c.process && !slices.Equal(made[0].signals, []string{"kill"}) {
					t.Errorf("signals %q", made[0].signals)
				}
			})
		})
	}
}

// TestKillInVisit: it is the same for who only visits.
func TestKillInVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made []*fakeProcess
		cfg := one(processes(&made, func(p *fakeProcess) { p.points = true }))
		cfg.Keys = 2
		s := on(t, cfg, nil)
		revive := s.Pauses.Kill(nil, AfterQuorum)
		s.runtime.AfterFunc(time.Second, func() { revive() })
		s.FinalCheck(s.ending(time.Hour), time.Second)
		want := []string{"acquire invoke", "crash info", "acquire invoke", "acquire ok", "release invoke", "release ok"}
		if got := steps(s.of("c1")); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestDiesByItself: a process that ended without an order starts anew at once, be it
// inside or before it enters, and that it ended is recorded, with what it held.
func TestDiesByItself(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
		want  []string
	}{
		{"inside", 100 * time.Millisecond, []string{"acquire invoke", "acquire ok", "enter info", "read ok", "crash info", "acquire invoke", "acquire ok"}},
		{"before it enters", 0, []string{"acquire invoke", "acquire ok", "crash info", "acquire invoke", "acquire ok"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var made []*fakeProcess
				s := on(t, one(processes(&made, func(*fakeProcess) {})), nil)
				if c.after > 0 {
					s.runtime.AfterFunc(c.after, func() { made[0].Kill() })
				} else {
					s.seen = func(op history.Op) {
						if op.F == history.FAcquire && op.Type == history.OK {
							made[0].Kill()
						}
					}
				}
				s.Run(s.ending(500 * time.Millisecond))
				for _, op := range s.of("c1") {
					if op.F == history.FCrash && (op.Time != c.after || op.Key != "k0" || op.Value.Token != "t1" || !strings.Contains(op.Error, "by itself, and had said: alas")) {
						t.Errorf("at its end: %s", line(op))
					}
				}
				if got := steps(s.of("c1")); len(got) < len(c.want) || !slices.Equal(got[:len(c.want)], c.want) || len(made) != 2 || s.Err() != nil {
					t.Errorf("%q, %d processes, %v", got, len(made), s.Err())
				}
			})
		})
	}
}

// TestLeavesWhenItGoesOn: a process that is stopped in its section is in it until it goes
// on, however long its lease has been over. So it is on the way into it.
func TestLeavesWhenItGoesOn(t *testing.T) {
	const resumed = 3 * time.Second
	for _, c := range []struct {
		name string
		at   time.Duration
	}{{"inside", 100 * time.Millisecond}, {"before it enters", 0}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var made []*fakeProcess
				s := on(t, one(processes(&made, func(*fakeProcess) {})), nil)
				stop := func() {
					resume := s.Pauses.Stop([]string{"c1"}, "")
					s.runtime.AfterFunc(resumed-time.Since(s.start), func() { resume() })
				}
				if c.at > 0 {
					s.runtime.AfterFunc(c.at, stop)
				} else {
					stop()
				}
				s.Run(s.ending(resumed + 100*time.Millisecond))
				var entered, left, wentOn history.Op
				for _, op := range s.of("c1") {
					switch {
					case op.F == history.FPaused && op.Type == history.OK:
						wentOn = op
					case op.F == history.FEnter && entered.F == "":
						entered = op
					case op.F == history.FLeave && left.F == "":
						left = op
					}
				}
				if wentOn.Time != resumed {
					t.Errorf("it went on: %s", line(wentOn))
				}
				if (entered.Index > wentOn.Index) != (c.at == 0) || left.Time < resumed || left.Index < wentOn.Index {
					t.Errorf("it entered and left: %s; %s", line(entered), line(left))
				}
			})
		})
	}
}

// TestNotRevived: who cannot start anew is told, and does nothing more.
func TestNotRevived(t *testing.T) {
	errNo := errors.New("no way")
	synctest.Test(t, func(t *testing.T) {
		cfg := one(fake(func(*fakeLock) {}))
		first := cfg.Lock.New
		made := 0
		cfg.Lock.New = func(s Env) (Lock, error) {
			if made++; made > 1 {
				return nil, errNo
			}
			return first(s)
		}
		s := on(t, cfg, nil)
		revive := s.Pauses.Kill(nil, BeforeEnter)
		s.runtime.AfterFunc(time.Second, func() { revive() })
		s.Run(s.ending(time.Hour))
		if err := s.Err(); !errors.Is(err, errNo) || !strings.Contains(err.Error(), "c1") || time.Since(s.start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(s.start))
		}
		s.FinalCheck(s.ending(time.Hour), time.Second)
		if got := steps(s.of("c1")); len(got) != 4 || got[2] != "crash info" || got[3] != "acquire invoke" { // without an outcome
			t.Errorf("%q", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestOnlyProcessesEndInTheirLock: another client's lock cannot be left half-way.
func TestOnlyProcessesEndInTheirLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newCorridor()
		revive := p.Kill(nil, AfterQuorum)
		if !p.Pass("c1", AfterQuorum, "k0") {
			t.Error("c1 ended")
		}
		var made []*fakeProcess
		l, _ := processes(&made, func(*fakeProcess) {}).New(Env{})
		p.register("c2", l.(Process))
		if p.Pass("c2", AfterQuorum, "k0") {
			t.Error("c2 did not end")
		}
		if got := revive(); !slices.Equal(got, []string{"c2"}) {
			t.Errorf("struck %v", got)
		}
	})
}

// TestAnywhere: an order without a point strikes processes at once, those that are
// named or each in its turn; clients that are none it cannot strike.
func TestAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newCorridor()
		if got := p.Stop([]string{"c1"}, "")(); len(got) > 0 {
			t.Errorf("struck %v", got)
		}
		if got := p.Kill(nil, "")(); len(got) > 0 {
			t.Errorf("struck %v", got)
		}
		var made []*fakeProcess
		kind := processes(&made, func(*fakeProcess) {})
		for _, name := range []string{"c1", "c2", "c3"} {
			l, _ := kind.New(Env{})
			p.register(name, l.(Process))
		}
		resume := p.Stop([]string{"c3", "c1", "c9"}, "")
		if len(p.ops) != 2 || p.ops[0].F != history.FPaused || p.ops[0].Type != history.Invoke || p.ops[0].Value.Point != anywhere {
			t.Errorf("recorded %q", steps(p.ops))
		}
		if !p.Pass("c1", BeforeWrite, "k0") { // a point of its own is none of the order's
			t.Error("c1 ended")
		}
		affected := resume()
		slices.Sort(affected)
		if !slices.Equal(affected, []string{"c1", "c3"}) {
			t.Errorf("struck %v", affected)
		}
		if want := []string{"paused invoke", "paused invoke", "paused ok", "paused ok"}; !slices.Equal(steps(p.ops), want) {
			t.Errorf("recorded %q", steps(p.ops))
		}
		for i, want := range [][]string{{"stop", "continue"}, nil, {"stop", "continue"}} {
			if !slices.Equal(made[i].signals, want) {
				t.Errorf("c%d: %q, want %q", i+1, made[i].signals, want)
			}
		}
		var turns []string
		for range 3 {
			turns = append(turns, p.Stop(nil, "")()...)
		}
		slices.Sort(turns)
		if !slices.Equal(turns, []string{"c1", "c2", "c3"}) {
			t.Errorf("turns %v", turns)
		}
	})
}

// TestStopProcess: a process that stops at a point is stopped by a signal, too, and
// goes on only after it is recorded that it does.
func TestStopProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made []*fakeProcess
		s := on(t, brief(processes(&made, func(*fakeProcess) {})), nil)
		resume := s.Pauses.Stop(nil, BeforeWrite)
		s.runtime.AfterFunc(3*time.Second, func() { resume() })
		s.seen = func(op history.Op) {
			if op.F == history.FPaused && op.Type == history.OK && !slices.Equal(made[0].signals, []string{"stop"}) {
				t.Errorf("it goes on after %q", made[0].signals)
			}
		}
		s.Run(s.ending(time.Second))
		if !slices.Equal(made[0].signals, []string{"stop", "continue"}) {
			t.Errorf("signals %q", made[0].signals)
		}
		late := slices.IndexFunc(s.ops, func(op history.Op) bool { return op.F == history.FApply && op.Time == 3*time.Second })
		if late < 0 {
			t.Error("the write that it was about to send was never applied")
		}
	})
}

// TestTold: a process is told until when it may try, in work and when it visits.
func TestTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []time.Duration
		var made []*fakeProcess
		s := on(t, one(processes(&made, func(p *fakeProcess) {
			p.refuse = errUnknown
			p.deadline = func(ctx context.Context) {
				end, _ := ctx.Deadline()
				told = append(told, time.Until(end))
			}
		})), nil)
		s.FinalCheck(s.ending(time.Hour), 2*time.Hour)
		visits := told
		told = nil
		working, end := s.runtime.WithCancelCause(t.Context())
		s.seen = func(history.Op) { end(errTimeUp) }
		s.Run(working)
		if visits[0] != 2*time.Hour || !slices.Equal(told, []time.Duration{time.Minute}) {
			t.Errorf("told %v when it visits, %v in work", visits[0], told)
		}
	})
}

// TestVisitsUntilTheBound: who is refused at once asks again until it is granted the lock, or until the time that it is
// allowed is over, and not longer. With hours it asks hundreds of times, not thousands.
func TestVisitsUntilTheBound(t *testing.T) {
	for _, c := range []struct {
		bound   time.Duration
		refused int // how often, before it is granted the lock
		asked   int
	}{{2 * time.Second, 0, 1}, {2 * time.Second, 3, 4}, {2 * time.Second, 1 << 20, 41}, {10 * time.Hour, 1 << 20, 501}} {
		synctest.Test(t, func(t *testing.T) {
			var lock *fakeLock
			s := on(t, one(fake(func(l *fakeLock) { lock, l.latency, l.refuse = l, 0, errUnknown })), nil)
			asked, last := 0, time.Duration(0)
			s.seen = func(op history.Op) {
				if op.F != history.FAcquire {
					return
				}
				last = op.Time
				if op.Type == history.Invoke {
					if asked++; asked > c.refused {
						lock.refuse = nil
					}
				}
			}
			s.FinalCheck(s.ending(20*time.Hour), c.bound)
			if asked != c.asked || c.asked > c.refused && last >= c.bound || c.asked <= c.refused && last != c.bound {
				t.Errorf("refused %d times within %v, it asked %d times, until %v", c.refused, c.bound, asked, last)
			}
		})
	}
}
