package sim

import (
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim/world"
	"lockpick/internal/processor"
	"lockpick/redlock"
)

// BenchmarkAttempts is the lock alone, without a history: ten clients contend for
// five keys on five masters. An attempt is SET on all masters and the votes on it,
// and the release.
func BenchmarkAttempts(b *testing.B) {
	b.ReportAllocs()
	roomy(b)
	used := processor.Time()
	w := world.New(1)
	c := New(w, cluster.Config{}, Options{Latency: Latency{Min: 200 * time.Microsecond, Max: 2 * time.Millisecond}})
	attempts, won := 0, 0
	keys := []string{"k0", "k1", "k2", "k3", "k4"}
	err := w.Run(func() {
		for _, name := range []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10"} {
			rt := w.ClientRuntime(name)
			locks, err := redlock.NewWithMasters(c.ClientMasters(name), redlock.WithRuntime(rt), redlock.WithTTL(time.Second))
			if err != nil {
				b.Fatal(err)
			}
			rt.Go(func() {
				ctx := context.Background()
				for attempts < b.N {
					attempts++
					lease, err := locks.TryLock(ctx, keys[w.Intn(len(keys), "key")])
					if err != nil {
						rt.Sleep(ctx, time.Duration(w.Intn(int(20*time.Millisecond), "think")))
						continue
					}
					won++
					rt.Sleep(ctx, time.Duration(w.Intn(int(30*time.Millisecond), "hold")))
					lease.Unlock(ctx)
				}
				locks.Close()
			})
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(attempts)/b.Elapsed().Seconds(), "attempts/s")
	b.ReportMetric(float64(attempts)/(processor.Time()-used).Seconds(), "attempts/cpu-s")
	b.ReportMetric(float64(won)/float64(attempts), "won")
	b.ReportMetric(w.Elapsed().Seconds()/b.Elapsed().Seconds(), "virtual/real")
	b.ReportMetric(float64(w.Steps())/float64(attempts), "events/attempt")
}

// roomy has the garbage collector run less often than the tiny heap of a world would
// make it, as a search does.
func roomy(b *testing.B) {
	before := debug.SetGCPercent(800)
	b.Cleanup(func() { debug.SetGCPercent(before) })
}

// BenchmarkSchedules is what a search does most: a world of five masters and two
// clients, one restart, a second of virtual time, and the history of it.
func BenchmarkSchedules(b *testing.B) {
	b.ReportAllocs()
	roomy(b)
	used := processor.Time()
	n := 0
	for b.Loop() {
		schedule(b, uint64(n))
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "schedules/s")
	b.ReportMetric(float64(n)/(processor.Time()-used).Seconds(), "schedules/cpu-s")
}

func schedule(b *testing.B, seed uint64) {
	w := world.New(seed)
	c := New(w, cluster.Config{}, Options{})
	err := w.Run(func() {
		rt := w.Runtime()
		ctx, end := rt.WithCancelCause(context.Background())
		rt.AfterFunc(time.Second, func() { end(nil) })
		for _, name := range []string{"c1", "c2"} {
			locks, err := redlock.NewWithMasters(c.ClientMasters(name), redlock.WithRuntime(w.ClientRuntime(name)), redlock.WithTTL(500*time.Millisecond))
			if err != nil {
				b.Fatal(err)
			}
			rt.Go(func() {
				for ctx.Err() == nil {
					if lease, err := locks.Lock(ctx, "k0"); err == nil {
						rt.Sleep(ctx, 300*time.Millisecond)
						lease.Unlock(context.Background())
					}
				}
				locks.Close()
			})
		}
		rt.Sleep(ctx, time.Duration(w.Intn(int(time.Second), "fault")))
		m := c.masters[w.Intn(5, "fault")]
		if err := m.Kill(ctx); err == nil {
			m.Start(ctx)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHour is a campaign of an hour, every operation of which is written. What the
// world, the lock, the nemesis and the watch keep in memory must not grow: the live
// heap after the first ten minutes and the most of any later ten are reported.
func BenchmarkHour(b *testing.B) {
	c := defaults()
	c.limit = time.Hour
	c.faults = []string{"kill", "pause", "partition", "clock", "powercut", "client-pause"}
	c.guided, c.persistence = false, cluster.Everysec
	used, virtual := processor.Time(), time.Duration(0)
	for b.Loop() {
		c.seed++
		w := world.New(c.seed)
		var heap []uint64
		var weigh func()
		weigh = func() {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = append(heap, m.HeapAlloc)
			w.Runtime().AfterFunc(10*time.Minute, weigh)
		}
		w.Runtime().AfterFunc(10*time.Minute, weigh)
		if err := c.run(io.Discard, w); err != nil {
			b.Fatal(err)
		}
		first, most := heap[0], slices.Max(heap[1:])
		if most > first+first/4+1<<20 {
			b.Errorf("seed %d: live heap in bytes, every ten minutes: %v", c.seed, heap)
		}
		b.ReportMetric(float64(first)/(1<<20), "first-MB")
		b.ReportMetric(float64(most)/(1<<20), "most-MB")
		virtual += w.Elapsed()
	}
	b.ReportMetric(virtual.Seconds()/(processor.Time()-used).Seconds(), "virtual/cpu")
}

// BenchmarkCampaign is a whole campaign of a minute, with its history as JSON.
func BenchmarkCampaign(b *testing.B) {
	roomy(b)
	c := defaults()
	c.limit = time.Minute
	used, virtual := processor.Time(), time.Duration(0)
	for b.Loop() {
		c.seed++
		w := world.New(c.seed)
		if err := c.run(io.Discard, w); err != nil {
			b.Fatal(err)
		}
		virtual += w.Elapsed()
	}
	b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "virtual/real")
	b.ReportMetric(virtual.Seconds()/(processor.Time()-used).Seconds(), "virtual/cpu")
}
