package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/internal/waittest"
	"lockpick/redlock"
)

// Extend and Unlock of one lease share memory only under a lock: the race detector sees that,
// if it has enough rounds in which both run at once.
func TestExtendBesideUnlock(t *testing.T) {
	s := newServer(t)
	s.answers = func(words []string) string {
		if strings.HasPrefix(words[0], "EVAL") && len(words) == 6 { // an extension
			return ":1\r\n"
		}
		return ""
	}
	l := s.locks(redlock.WithTTL(time.Minute))
	for range 300 {
		lease, err := l.Lock(t.Context(), "k")
		must(t, err)
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := lease.Extend(context.Background()); err != nil && !errors.Is(err, redlock.ErrNotHeld) {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := lease.Unlock(context.Background()); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
	}
}

// Work that ends while its lease is extended, and leases that many goroutines use at once.
// "make stress" does the same for minutes.
func TestLeaseIsSafeForConcurrentUse(t *testing.T) {
	c := masters(t, 3, cluster.None)
	useAtOnce(t, c, func(round int, _ int64) bool { return round < 5 })
}

// useAtOnce uses leases in every way at the same time while more says so.
func useAtOnce(t *testing.T, c cluster.Cluster, more func(round int, leases int64) bool) {
	t.Helper()
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() { endDuringExtensions(t, c, fmt.Sprint("late", i), more) })
	}
	all.Go(func() { shareLeases(t, c, more) })
	all.Wait()
	waittest.Until(t, "no key is left", func() bool { return keysLeft(t, c) == 0 })
}

// endDuringExtensions runs Do with work that ends when the first vote on an extension is
// there. The other masters answer later, so that the release is sent during the extension.
func endDuringExtensions(t *testing.T, c cluster.Cluster, name string, more func(round int, leases int64) bool) {
	for i := range c.Masters()[1:] {
		link(t, c, name, i+1).Set(cluster.LinkFault{Delay: 20 * time.Millisecond})
	}
	extending := make(chan struct{}, 1)
	l := dial(t, c, name, redlock.WithTTL(time.Second), redlock.WithTimeout(4*hang), redlock.WithHooks(redlock.Hooks{
		Vote: func(v redlock.Vote) {
			if v.Purpose == redlock.Extend {
				select {
				case extending <- struct{}{}:
				default:
				}
			}
		},
		Ended: func(lease *redlock.Lease, _ error) { _ = lease.Remaining() },
	}))
	during := 0
	work := func(ctx context.Context) error {
		select {
		case <-extending:
			during++
		case <-ctx.Done(): // this machine is busy
		}
		return nil
	}
	for round := 0; more(round, 0) || during == 0; round++ {
		select {
		case <-extending: // of the last round
		default:
		}
		// The lease is short, and this machine may be busy for longer.
		if err := l.Do(t.Context(), name, work); err != nil && !errors.Is(err, redlock.ErrExpired) && !errors.Is(err, redlock.ErrNotHeld) {
			t.Error(err)
		}
	}
	t.Logf("%s: work ended during %d extensions", name, during)
}

// shareLeases has goroutines call each method of one lease at once, while others wait for the
// same key in Do. Exactly one Unlock of a lease succeeds.
func shareLeases(t *testing.T, c cluster.Cluster, more func(round int, leases int64) bool) {
	const callers = 4
	l := dial(t, c, "shared", redlock.WithTTL(time.Minute), redlock.WithTimeout(4*hang), redlock.WithVoteRecovery())
	for round := 0; more(round, 0); round++ {
		lease, err := l.Lock(t.Context(), "shared")
		if err != nil {
			t.Error(err)
			return
		}
		var all sync.WaitGroup
		released := make(chan struct{}, callers)
		start := make(chan struct{})
		for range callers {
			all.Go(func() {
				if err := l.Do(t.Context(), "shared", func(ctx context.Context) error { return ctx.Err() }); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				<-start
				for lease.Context().Err() == nil {
					if _, err := lease.Extend(t.Context()); err != nil && !errors.Is(err, redlock.ErrNotHeld) {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				<-start
				for lease.Context().Err() == nil {
					if _, err := lease.IsHeld(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				<-start
				<-lease.Context().Done()
				if cause := context.Cause(lease.Context()); !errors.Is(cause, redlock.ErrReleased) {
					t.Error(cause)
				}
			})
			all.Go(func() {
				<-start
				time.Sleep(time.Millisecond / 2) // so that the others are under way
				switch err := lease.Unlock(t.Context()); {
				case err == nil:
					released <- struct{}{}
				case !errors.Is(err, redlock.ErrNotHeld):
					t.Error(err)
				}
			})
		}
		close(start)
		all.Wait()
		if len(released) != 1 {
			t.Errorf("%d of %d Unlocks of one lease succeeded", len(released), callers)
		}
	}
}
