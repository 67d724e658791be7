package workload

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/history"
)

// TestLostWhenTheLockSaysSo: a lease that its lock says was over at a time is over then, and so is
// the critical section, even if the client learns it later.
func TestLostWhenTheLockSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := two(fake(func(l *fakeLock) { l.lost, l.late = 300*time.Millisecond, 50*time.Millisecond }))
		cfg.HoldMin, cfg.HoldMax, cfg.LongHolds, cfg.Extend = time.Second, time.Second, 0, 0
		s := on(t, cfg, nil)
		s.Run(s.ending(5 * time.Second))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		cut := 0
		for _, l := range history.Leases(s.recorded()) {
			if l.LostIndex < 0 { // the run ended before
				continue
			}
			cut++
			end := l.Acquired() + 300*time.Millisecond
			if got := l.Holds(); len(got) != 1 || got[0].To != end || l.Left != end || l.Released != end+50*time.Millisecond {
				t.Errorf("granted at %v, it holds %v, is left at %v and released at %v; want the end at %v", l.Acquired(), got, l.Left, l.Released, end)
			}
		}
		if cut < 4 {
			t.Errorf("%d leases were lost", cut)
		}
		if ops := s.recorded(); slices.ContainsFunc(ops, func(op history.Op) bool { return op.F == history.FLost && op.Error == "" }) {
			t.Error("a loss without its reason")
		}
	})
}

// TestLostBeforeTheRelease: what a lock says too late, when its lease has been released, still tells
// until when the client relied on it.
func TestLostBeforeTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := two(fake(func(l *fakeLock) { l.lost, l.late, l.slow = 300*time.Millisecond, 200*time.Millisecond, time.Second }))
		cfg.HoldMin, cfg.HoldMax, cfg.LongHolds, cfg.Extend = 400*time.Millisecond, 400*time.Millisecond, 0, 0
		s := on(t, cfg, nil)
		s.Run(s.ending(5 * time.Second))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		late := 0
		for _, l := range history.Leases(s.recorded()) {
			if l.LostIndex < 0 || l.ReleaseIndex < 0 || l.LostIndex < l.ReleaseIndex {
				continue
			}
			late++
			if end := l.Acquired() + 300*time.Millisecond; l.Released <= end || l.Over() != end {
				t.Errorf("granted at %v and released at %v, it is over at %v; want %v", l.Acquired(), l.Released, l.Over(), end)
			}
		}
		if late < 4 {
			t.Errorf("%d leases were said to be lost after their release", late)
		}
	})
}
