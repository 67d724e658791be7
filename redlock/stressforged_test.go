package redlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"lockpick/redlock"
)

// TestForgedRepliesUnderContention is a short version of what the stress test does for minutes.
func TestForgedRepliesUnderContention(t *testing.T) {
	stressForged(t, func(round int, _ int64) bool { return round < 20 })
}

// stressForged has goroutines of two clients lock, extend and release one key while one master of three forges replies of
// every type, another one in each round. At most one holds the key at a time. RESP2 and RESP3 are spoken side by side.
func stressForged(t *testing.T, more func(round int, leases int64) bool) {
	masters := []*forger{newForger(t, false), newForger(t, true), newForger(t, true)}
	masters[0].forge("none", "") // so that no client waits long for its replies
	next := func() {
		of := forgedCommands[rand.IntN(len(forgedCommands))]
		if forged := forgeries[rand.IntN(len(forgeries))]; !right(of, forged) {
			masters[0].forge(of, forged)
		}
	}
	var holders, leases, failures atomic.Int64
	hold := func() {
		if n := holders.Add(1); n != 1 {
			t.Errorf("%d hold the key", n)
		}
		leases.Add(1)
		next()
	}
	work := func(context.Context) error {
		hold()
		holders.Add(-1)
		return nil
	}
	var all sync.WaitGroup
	for range 2 {
		locks, end := forgedLocks(t, masters, true)
		defer end()
		for k := range 2 {
			all.Go(func() {
				for round := 0; more(round, leases.Load()); round++ {
					next()
					if k == 1 {
						if err := locks.Do(t.Context(), "k", work); err != nil {
							failures.Add(1)
						}
						continue
					}
					lease, err := locks.Lock(t.Context(), "k")
					if err != nil {
						failures.Add(1)
						continue
					}
					hold()
					if _, err := lease.Extend(t.Context()); err != nil {
						failures.Add(1)
					}
					holders.Add(-1)
					if err := lease.Unlock(t.Context()); err != nil && !errors.Is(err, redlock.ErrNotHeld) {
						failures.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	if leases.Load() == 0 {
		t.Error("no lease was granted")
	}
	t.Logf("%d leases, %d calls failed", leases.Load(), failures.Load())
}
