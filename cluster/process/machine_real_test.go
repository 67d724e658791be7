//go:build real

package process

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/internal/waittest"
)

// off says how far a master's clock is ahead of the true one, at least and at most.
func off(t *testing.T, m *master) (low, high time.Duration) {
	t.Helper()
	asked := time.Now()
	found, err := m.Inspect(within(t, 10*time.Second), nil)
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(found.Time), found.Time.Sub(asked)
}

// showsOffset asserts how far a master's clock is ahead.
func showsOffset(t *testing.T, m *master, want time.Duration) {
	t.Helper()
	const slack = 30 * time.Millisecond
	if low, high := off(t, m); want < low-slack || want > high+slack {
		t.Errorf("the clock is ahead by %v to %v; want %v", low, high, want)
	}
}

func setClock(t *testing.T, m *master, c cluster.Clock) {
	t.Helper()
	if err := m.SetClock(within(t, 10*time.Second), c); err != nil {
		t.Fatal(err)
	}
}

func setDisk(t *testing.T, m *master, d cluster.Disk) {
	t.Helper()
	if err := m.SetDisk(within(t, 10*time.Second), d); err != nil {
		t.Fatal(err)
	}
}

func lock(t *testing.T, m *master, key string, ttl time.Duration) {
	t.Helper()
	if err := m.now().inspection().Set(t.Context(), key, "token", ttl).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestAClockJumpsDriftsAndStrobes(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		_, m := shimmed(t, driver, cluster.Config{Persistence: cluster.Always})
		showsOffset(t, m, 0)

		lock(t, m, "forward", 30*time.Second)
		time.Sleep(2 * time.Millisecond) // Redis counts in whole ones
		setClock(t, m, cluster.Clock{Offset: 30 * time.Second})
		if _, ok := stored(t, m, "forward"); ok {
			t.Error("a key with 30 s to live is there after a jump of 30 s")
		}
		showsOffset(t, m, 30*time.Second)
		must(t, m.Kill, m.Start)
		showsOffset(t, m, 30*time.Second) // the clock is the machine's
		must(t, m.Kill)
		setClock(t, m, cluster.Clock{Offset: time.Hour})
		must(t, m.Start)
		showsOffset(t, m, time.Hour)
		must(t, m.Pause)
		setClock(t, m, cluster.Clock{Offset: -time.Hour})
		must(t, m.Resume)
		showsOffset(t, m, -time.Hour)
		setClock(t, m, cluster.Clock{})
		showsOffset(t, m, 0)

		lock(t, m, "back", 100*time.Millisecond)
		setClock(t, m, cluster.Clock{Offset: -10 * time.Second})
		time.Sleep(120 * time.Millisecond)
		if _, ok := stored(t, m, "back"); !ok {
			t.Error("a jump back did not prolong a key's life")
		}
		setClock(t, m, cluster.Clock{})
		if _, ok := stored(t, m, "back"); ok {
			t.Error("when the clock is right again, the key lives on")
		}

		setClock(t, m, cluster.Clock{Rate: 1.5})
		lock(t, m, "fast", time.Minute)
		c := m.now().inspection()
		asked := time.Now()
		first, err := c.PTTL(t.Context(), "fast").Result()
		if err != nil {
			t.Fatal(err)
		}
		answered := time.Now()
		time.Sleep(200 * time.Millisecond)
		inner := time.Since(answered)
		second, err := c.PTTL(t.Context(), "fast").Result()
		if err != nil {
			t.Fatal(err)
		}
		outer := time.Since(asked)
		if aged := first - second; aged < inner*3/2-5*time.Millisecond || aged > outer*3/2+5*time.Millisecond {
			t.Errorf("at a rate of 1.5 a key aged %v in %v to %v", aged, inner, outer)
		}

		for i := range 40 {
			setClock(t, m, cluster.Clock{Offset: time.Duration(1-2*(i%2)) * 5 * time.Second}) // returns when TIME shows it
		}
		showsOffset(t, m, -5*time.Second)
		setClock(t, m, cluster.Clock{})
		showsOffset(t, m, 0)
	})
}

func TestAClockThatCanNotBeIsRefused(t *testing.T) {
	needs(t, "process")
	_, m := shimmed(t, "process", cluster.Config{})
	for _, c := range []cluster.Clock{{Rate: -1}, {Rate: 1e9}, {Offset: 1 << 62}} {
		if err := m.SetClock(t.Context(), c); err == nil || !strings.Contains(err.Error(), "clock") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := m.SetDisk(t.Context(), cluster.Disk{FsyncDelay: -1}); err == nil {
		t.Error("a negative delay was taken")
	}
	showsOffset(t, m, 0)
}

// What waits for a slow disk waits until the disk is healed, and then goes on.
func TestASlowDiskHoldsUpWhatMustBeDurable(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		_, m := shimmed(t, driver, cluster.Config{Persistence: cluster.Always})
		setDisk(t, m, cluster.Disk{FsyncDelay: time.Hour})
		c := newInspectionClient(m.now().addr, m.now().Password, "", cluster.Dial)
		defer c.Close()
		done := make(chan error, 1)
		go func() {
			_, err := c.Do(t.Context(), "set", "a", "1").Result()
			done <- err
		}()
		waittest.Until(t, "an fsync is delayed", func() bool { return m.now().shared.counts().Delayed > 0 })
		select {
		case err := <-done:
			t.Errorf("SET was answered before its fsync was done: %v", err)
		default:
		}
		setDisk(t, m, cluster.Disk{})
		if err := <-done; err != nil {
			t.Errorf("after the disk was healed: %v", err)
		}
	})
}

// With appendfsync always Redis ends by itself when it can not write.
func TestAFullDiskEndsAMasterThatMayNotLoseAnything(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		_, m := shimmed(t, driver, cluster.Config{Persistence: cluster.Always})
		lock(t, m, "before", 0)
		setDisk(t, m, cluster.Disk{Full: true})
		if err := m.now().inspection().Set(t.Context(), "during", "1", 0).Err(); err == nil {
			t.Error("SET was acknowledged on a full disk")
		}
		waittest.Until(t, "the server has ended", func() bool { return m.State() == cluster.Down })
		setDisk(t, m, cluster.Disk{})
		must(t, m.Start)
		if _, ok := stored(t, m, "before"); !ok {
			t.Error("what was stored before is lost")
		}
		if _, ok := stored(t, m, "during"); ok {
			t.Error("what was not acknowledged is stored")
		}
	})
}

func TestAFullDiskIsTheWritersErrorIfAMasterMayLoseSome(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		_, m := shimmed(t, driver, cluster.Config{Persistence: cluster.Everysec})
		setDisk(t, m, cluster.Disk{Full: true})
		write := func() error { return m.now().inspection().Set(t.Context(), "a", "1", 0).Err() }
		waittest.Until(t, "MISCONF", func() bool { return redis.HasErrorPrefix(write(), "MISCONF") })
		found, err := m.Inspect(t.Context(), nil)
		if err != nil || found.Disk.Refused == 0 {
			t.Errorf("%+v, %v", found, err)
		}
		setDisk(t, m, cluster.Disk{})
		waittest.Until(t, "writes are taken again", func() bool { return write() == nil })
	})
}

func TestFillEvictsLocksAndDrainMakesRoom(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		g := start(t, driver, cluster.Config{Masters: 1, MaxMemory: 8 << 20, Eviction: "allkeys-lru"})
		m, ctx := g.masters[0], within(t, time.Minute)
		var keys []string
		for i := range 20 {
			keys = append(keys, fmt.Sprint("lock", i))
			lock(t, m, keys[i], time.Minute)
		}
		if err := m.FillMemory(ctx, 1<<20); err != nil {
			t.Fatal(err)
		}
		if found, err := m.Inspect(ctx, keys); err != nil || len(found.Keys) != 20 || found.Evicted != 0 {
			t.Fatalf("a little junk evicted locks: %+v, %v", found, err)
		}
		if err := m.FillMemory(ctx, 0); err != nil {
			t.Fatal(err)
		}
		found, err := m.Inspect(ctx, keys)
		if err != nil || found.Evicted == 0 {
			t.Fatalf("junk evicted nothing: %+v, %v", found, err)
		}
		if err := m.FillMemory(ctx, 24<<20); err != nil {
			t.Fatal(err)
		}
		if found, err = m.Inspect(ctx, keys); err != nil || len(found.Keys) == 20 {
			t.Errorf("of %d evicted keys none was a lock, %v", found.Evicted, err)
		}
		if err := m.DrainMemory(ctx); err != nil {
			t.Fatal(err)
		}
		if n := m.now().inspection().DBSize(ctx).Val(); n != int64(len(found.Keys)) {
			t.Errorf("%d keys are left; want %d locks", n, len(found.Keys))
		}
	})
}

func TestFillEndsWhereAMasterTakesNoMore(t *testing.T) {
	needs(t, "process")
	g := start(t, "process", cluster.Config{Masters: 1, MaxMemory: 4 << 20})
	m, ctx := g.masters[0], within(t, time.Minute)
	if err := m.FillMemory(ctx, 64<<20); err != nil {
		t.Fatal(err)
	}
	c := m.now().inspection()
	if err := c.Set(ctx, "a", strings.Repeat("x", fillerSize), 0).Err(); !redis.HasErrorPrefix(err, "OOM") {
		t.Errorf("a full master says %v", err)
	}
	if err := m.DrainMemory(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(ctx, "a", "1", 0).Err(); err != nil {
		t.Error(err)
	}
	must(t, m.Kill)
	if err := m.FillMemory(ctx, 1); !errors.Is(err, cluster.ErrDown) {
		t.Errorf("fill a master that is down: %v", err)
	}
}
