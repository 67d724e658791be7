package sim

import (
	"context"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
)

// TestFailoverLosesWhatIsOnItsWay: what was written just before is mostly not on the replica
// yet, and what was written a while before is.
func TestFailoverLosesWhatIsOnItsWay(t *testing.T) {
	ctx := context.Background()
	const failovers = 100
	lost := 0
	on(t, cluster.Config{Replicas: 1, Persistence: cluster.Always}, Options{}, func(b *bench) {
		for range failovers {
			b.do("set", "before", "t")
			b.sleep(200 * time.Millisecond)
			b.do("set", "k", "t")
			b.ok(b.m.Failover(ctx, cluster.Takeover{Outage: time.Second}))
			b.want("before", "t", "after the failover")
			if _, kept := b.m.snapshot([]string{"k"}).Keys["k"]; !kept {
				lost++
			}
			b.ok(b.m.Start(ctx))
			b.do("del", "before")
			b.do("del", "k")
			b.sleep(200 * time.Millisecond)
		}
	})
	t.Logf("%d of %d last writes were lost", lost, failovers)
	if lost < failovers/2 || lost == failovers {
		t.Errorf("%d of %d last writes were lost", lost, failovers)
	}
}

// put stores a key in a step of its own.
func (b *bench) put(key, text string) {
	b.m.store.Put(key, keyspace.Value{Text: text, Expires: keyspace.Never})
	b.m.settle()
}

// TestLagGrowsWithLoad: changes do not overtake each other, so after a burst the last one
// arrives later than a single one does.
func TestLagGrowsWithLoad(t *testing.T) {
	on(t, cluster.Config{Replicas: 2}, Options{}, func(b *bench) {
		b.sleep(time.Second)
		n, at := b.m.acknowledged(2, keyspace.Never)
		if n != 2 || at != b.w.Now() {
			t.Errorf("without a write %d replicas acknowledge after %v", n, time.Duration(at-b.w.Now()))
		}
		one, burst := time.Duration(0), time.Duration(0)
		for range 20 {
			b.put("k", "t")
			_, at = b.m.acknowledged(2, keyspace.Never)
			one += time.Duration(at - b.w.Now())
			b.sleep(time.Second)
			for range 1000 {
				b.put("k", "t")
			}
			_, at = b.m.acknowledged(2, keyspace.Never)
			burst += time.Duration(at - b.w.Now())
			b.sleep(time.Second)
		}
		if one < 20*500*time.Microsecond || burst < one+20*10*time.Millisecond {
			t.Errorf("20 writes alone lagged by %v, the last ones of 20 bursts by %v", one, burst)
		}
	})
}

// TestWaitWaitsForReplicas: WAIT answers as soon as enough replicas have the last write, or
// at its timeout with those that have it.
func TestWaitWaitsForReplicas(t *testing.T) {
	ctx := context.Background()
	on(t, cluster.Config{Replicas: 2}, Options{}, func(b *bench) {
		b.put("k", "t")
		_, first := b.m.acknowledged(1, keyspace.Never)
		_, second := b.m.acknowledged(2, keyspace.Never)
		if first > second || first <= b.w.Now() {
			t.Errorf("one replica has it at %d, two have it at %d, now it is %d", first, second, b.w.Now())
		}
		b.ok(b.m.HoldReplication(ctx, true))
		b.put("k", "u")
		until := b.w.Now() + int64(time.Second)
		if n, at := b.m.acknowledged(2, until); n != 1 || at != until {
			t.Errorf("with one of two held %d acknowledge after %v", n, time.Duration(at-b.w.Now()))
		}
		b.ok(b.m.HoldReplication(ctx, false))
		if n, _ := b.m.acknowledged(2, b.w.Now()+int64(time.Second)); n != 2 {
			t.Errorf("let go, %d acknowledge", n)
		}
	})
}
