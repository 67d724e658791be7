package sim

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim/world"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

var (
	oneMaster = cluster.Config{Masters: 1}

	_ cluster.Runtime  = (*world.Client)(nil)
	_ protocol.Runtime = (*world.Client)(nil)
)

// in runs f in a world and fails the test if the world does not end well.
func in(t testing.TB, w *world.World, f func(rt *world.Client)) {
	t.Helper()
	if err := w.Run(func() { f(w.Runtime()) }); err != nil {
		t.Fatal(err)
	}
}

// bench is one master, a client's conversation with it, and what it voted.
type bench struct {
	t     *testing.T
	w     *world.World
	c     *Cluster
	m     *Master
	link  *Link
	pool  protocol.Masters
	talk  protocol.Conversation
	votes []protocol.Vote // in the order in which they were observed
}

// on runs f beside one master, with a connection open to it.
func on(t *testing.T, cfg cluster.Config, opt Options, f func(b *bench)) {
	t.Helper()
	cfg.Masters = 1
	w := world.New(1)
	b := &bench{t: t, w: w, c: New(w, cfg, opt)}
	b.m, b.link, b.pool = b.c.masters[0], b.c.linksOf("c1")[0], b.c.ClientMasters("c1")
	in(t, w, func(*world.Client) {
		b.begin()
		b.do("set", "warm", "up")
		b.do("del", "warm")
		b.votes = nil
		f(b)
	})
}

// begin starts another conversation.
func (b *bench) begin() {
	b.talk = b.pool.Begin(func(v protocol.Vote) { b.votes = append(b.votes, v) })
}

// do sends a command, waits for its vote at most 50 ms, and returns it.
func (b *bench) do(words ...any) protocol.Vote {
	return b.ask(protocol.Command{Purpose: protocol.Set, Args: words})
}

func (b *bench) ask(cmd protocol.Command) protocol.Vote {
	for v := range b.talk.Ask(context.Background(), cmd, nil, 50*time.Millisecond) {
		return v
	}
	b.t.Helper()
	b.t.Fatal("no vote")
	return protocol.Vote{}
}

// stores is what the master has under a key, "" for nothing.
func (b *bench) stores(key string) string { return b.m.snapshot([]string{key}).Keys[key] }

func (b *bench) sleep(d time.Duration) { b.w.Runtime().Sleep(context.Background(), d) }

// ok fails the test if a fault could not be installed.
func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) restart(end func(context.Context) error) {
	b.t.Helper()
	b.ok(end(context.Background()))
	b.ok(b.m.Start(context.Background()))
}

func (b *bench) want(key, text, when string) {
	b.t.Helper()
	if got := b.stores(key); got != text {
		b.t.Errorf("%s: %s is %q, not %q", when, key, got, text)
	}
}

func TestAPausedMasterAppliesLaterWhatTheClientGaveUp(t *testing.T) {
	on(t, oneMaster, Options{}, func(b *bench) {
		b.ok(b.m.Pause(context.Background()))
		v := b.do("set", "k", "t", "nx", "px", int64(1000))
		if !errors.Is(v.Err, os.ErrDeadlineExceeded) || v.Took != 50*time.Millisecond {
			t.Errorf("%v after %v", v.Err, v.Took)
		}
		if v := b.do("set", "n", "t"); v.Err == nil { // on a new connection, which a paused master never greets
			t.Errorf("%+v", v)
		}
		b.sleep(time.Second)
		b.ok(b.m.Resume(context.Background()))
		b.want("k", "t", "after the resume")
		b.want("n", "", "never sent")
		if len(b.votes) != 2 {
			t.Errorf("votes: %+v", b.votes)
		}
	})
}

func TestAKilledMasterForgetsWhatItHadNotRead(t *testing.T) {
	on(t, oneMaster, Options{}, func(b *bench) {
		b.ok(b.m.Pause(context.Background()))
		b.w.Runtime().AfterFunc(10*time.Millisecond, func() { b.m.Kill(context.Background()) })
		v := b.do("set", "k", "t")
		if !errors.Is(v.Err, syscall.ECONNRESET) || v.Took > 20*time.Millisecond {
			t.Errorf("%v after %v", v.Err, v.Took)
		}
		if v := b.do("set", "k", "t"); !errors.Is(v.Err, syscall.ECONNREFUSED) {
			t.Errorf("of a dead master: %v", v.Err)
		}
		b.ok(b.m.Start(context.Background()))
		b.want("k", "", "after the restart")
		if v := b.do("set", "k", "t"); !v.Yes {
			t.Errorf("after the restart: %+v", v)
		}
	})
}

func TestAMastersClockDecidesWhenKeysExpire(t *testing.T) {
	ctx := context.Background()
	on(t, oneMaster, Options{}, func(b *bench) {
		b.do("set", "k", "t", "px", int64(1000))
		b.ok(b.m.SetClock(ctx, cluster.Clock{Offset: time.Minute}))
		b.want("k", "", "a minute ahead")
		b.do("set", "k", "t", "px", int64(1000))
		b.ok(b.m.SetClock(ctx, cluster.Clock{}))
		b.sleep(30 * time.Second)
		b.want("k", "t", "set back by a minute")
		b.sleep(32 * time.Second)
		b.want("k", "", "a minute later")
		b.ok(b.m.SetClock(ctx, cluster.Clock{Rate: 2}))
		b.do("set", "k", "t", "px", int64(1000))
		b.sleep(510 * time.Millisecond)
		b.want("k", "", "on a clock twice as fast")
		look, err := b.m.Inspect(ctx, nil)
		if b.ok(err); look.Time.Sub(world.Epoch)-b.w.Elapsed() < 500*time.Millisecond {
			t.Errorf("it shows %v at %v", look.Time, b.w.Elapsed())
		}
	})
}

func TestAFailoverLosesWhatWasHeld(t *testing.T) {
	for _, p := range []cluster.Persistence{cluster.None, cluster.Always} {
		failoverLosesWhatWasHeld(t, p)
	}
	on(t, oneMaster, Options{}, func(b *bench) {
		if err := b.m.Failover(context.Background(), cluster.Takeover{}); !errors.Is(err, cluster.ErrUnavailable) {
			t.Errorf("without replicas: %v", err)
		}
	})
}

func failoverLosesWhatWasHeld(t *testing.T, p cluster.Persistence) {
	ctx := context.Background()
	on(t, cluster.Config{Replicas: 1, Persistence: p}, Options{}, func(b *bench) {
		b.do("set", "before", "t")
		b.sleep(time.Second)
		b.ok(b.m.HoldReplication(ctx, true))
		b.do("set", "k", "t")
		b.ok(b.m.Failover(ctx, cluster.Takeover{}))
		b.want("before", "t", "after the failover")
		b.want("k", "", "after the failover")
		if err := b.m.Failover(ctx, cluster.Takeover{}); err == nil {
			t.Error("failed over to a replica that is down")
		}
		b.ok(b.m.HoldReplication(ctx, false))
		b.ok(b.m.Start(ctx))
		b.do("set", "k", "t")
		b.sleep(time.Second)
		b.ok(b.m.Failover(ctx, cluster.Takeover{}))
		b.want("k", "t", "after a failover without a hold")
	})
}

func TestAFullMemoryEvictsOrRefuses(t *testing.T) {
	ctx := context.Background()
	on(t, cluster.Config{MaxMemory: 4 << 20, Eviction: "allkeys-lru"}, Options{}, func(b *bench) {
		b.ok(b.m.FillMemory(ctx, 0))
		if n := b.m.snapshot(nil).Evicted; n == 0 {
			t.Error("nothing was evicted")
		}
		b.do("set", "k", "t")
		b.ok(b.m.FillMemory(ctx, 64<<20))
		b.want("k", "", "after 64 MB of junk")
		b.ok(b.m.DrainMemory(ctx))
		if n := b.m.store.Len(); n > 0 || b.m.store.Bytes != 0 {
			t.Errorf("%d keys, %d bytes are left", n, b.m.store.Bytes)
		}
	})
	on(t, cluster.Config{MaxMemory: 4 << 20}, Options{}, func(b *bench) {
		b.do("set", "k", "t")
		b.ok(b.m.FillMemory(ctx, 0))
		if v := b.do("set", "n", "t"); v.Err == nil || v.Err.Error() != "m1: "+outOfMemory {
			t.Errorf("%+v", v)
		}
		b.want("k", "t", "with a full memory")
	})
}

func TestCallsOnAMasterSayWhatCanNotBe(t *testing.T) {
	ctx := context.Background()
	on(t, oneMaster, Options{}, func(b *bench) {
		id := b.m.snapshot(nil).RunID
		b.ok(errors.Join(b.m.Kill(ctx), b.m.Kill(ctx)))
		for _, err := range []error{b.m.Pause(ctx), b.m.Resume(ctx), func() error { _, err := b.m.Inspect(ctx, nil); return err }()} {
			if !errors.Is(err, cluster.ErrDown) {
				t.Errorf("of a master that is down: %v", err)
			}
		}
		b.ok(errors.Join(b.m.Start(ctx), b.m.Start(ctx), b.m.Pause(ctx), b.m.Pause(ctx)))
		if err := b.m.Start(ctx); !errors.Is(err, cluster.ErrPaused) {
			t.Errorf("of a master that is paused: %v", err)
		}
		b.ok(b.m.Shutdown(ctx))
		b.ok(b.m.Start(ctx))
		if b.m.snapshot(nil).RunID == id {
			t.Error("the run id is the same after a restart")
		}
		began := b.w.Elapsed()
		b.restart(b.m.Kill)
		if d := b.w.Elapsed() - began; d < 5*time.Millisecond || d > 20*time.Millisecond {
			t.Errorf("kill and start took %v", d)
		}
		b.ok(b.c.Close())
		if err := b.m.Start(ctx); !errors.Is(err, cluster.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestMemoryStaysFlatOverAnHour(t *testing.T) {
	w := world.New(1)
	c := New(w, cluster.Config{Persistence: cluster.Everysec}, Options{})
	var heap []uint64
	in(t, w, func(rt *world.Client) {
		ctx, end := rt.WithCancelCause(context.Background())
		for _, name := range []string{"c1", "c2", "c3"} {
			locks, err := redlock.NewWithMasters(c.ClientMasters(name), redlock.WithRuntime(rt), redlock.WithTTL(10*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			rt.Go(func() {
				for ctx.Err() == nil {
					if lease, err := locks.Lock(ctx, "k"+name); err == nil {
						rt.Sleep(ctx, time.Second)
						lease.Unlock(context.Background())
					}
				}
				locks.Close()
			})
		}
		for range 6 {
			rt.Sleep(ctx, 10*time.Minute)
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = append(heap, m.HeapAlloc)
		}
		end(nil)
	})
	if slices.Max(heap[1:]) > heap[0]+heap[0]/4+1<<20 {
		t.Errorf("heap at every ten minutes: %v", heap)
	}
}

// TestEntriesOfStreamsAreNumberedByTheClock: within a millisecond, and after the clock went back, by the latest number.
func TestEntriesOfStreamsAreNumberedByTheClock(t *testing.T) {
	w := world.New(1)
	m := New(w, oneMaster, Options{}).masters[0]
	ms := func(at time.Duration) string { return strconv.FormatInt(world.Epoch.Add(at).UnixMilli(), 10) }
	if err := w.Run(func() {
		for _, x := range []struct {
			clock time.Duration
			want  string
		}{{5 * time.Second, ms(5*time.Second) + "-0"}, {5 * time.Second, ms(5*time.Second) + "-1"}, {time.Second, ms(5*time.Second) + "-2"}, {6 * time.Second, ms(6*time.Second) + "-0"}} {
			m.setClock(cluster.Clock{Offset: x.clock, Rate: frozen})
			if got := m.execute("xadd", []string{"s", "*", "f", "v"}); got.Text != x.want {
				t.Errorf("at %v: %s, want %s", x.clock, got, x.want)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}
