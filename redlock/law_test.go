package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// A lease is granted iff a majority said yes in time; it is never valid longer than
// start + TTL − drift; after a failed attempt every master that was asked gets a
// release, behind its SET.
func TestOneAttempt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const ttl, timeout = time.Second, 50 * time.Millisecond
		n := rapid.IntRange(1, 7).Draw(rt, "masters")
		sequential := rapid.Bool().Draw(rt, "sequential")
		fencing := rapid.Bool().Draw(rt, "fencing")
		pause := rapid.SampledFrom([]time.Duration{0, 0, 0, 900 * time.Millisecond, 988 * time.Millisecond}).Draw(rt, "pause")
		fates := rapid.SliceOfN(fateOf(60*time.Millisecond), n, n).Draw(rt, "fates")

		// What must come of it. A sequential client pays for every master.
		var spent time.Duration
		yesses := 0
		for _, f := range fates {
			took := min(f.arrives+f.returns, timeout)
			if f.lost || f.mute {
				took = timeout
			}
			if f.refused {
				took = min(f.arrives, timeout)
			}
			says := (f.said == nil || *f.said > 0) && !f.lost && !f.mute && !f.refused && f.arrives+f.returns < timeout
			if says {
				yesses++
			}
			spent += took
		}
		quorum := n/2 + 1
		won := yesses >= quorum

		problem := inBubble(t, func(t *testing.T) error {
			m := newFakeMasters(n)
			m.fate = func(i int, cmd protocol.Command) fate {
				if cmd.Purpose == redlock.Set {
					return fates[i]
				}
				return fate{arrives: time.Millisecond}
			}
			var mu sync.Mutex
			asked := map[int][]redlock.Purpose{}   // of each master, in order
			arrived := map[int][]redlock.Purpose{} // those that reached it
			m.asked = func(cmd protocol.Command, to []int) {
				mu.Lock()
				defer mu.Unlock()
				for _, i := range to {
					asked[i] = append(asked[i], cmd.Purpose)
				}
			}
			m.applied = func(i int, cmd protocol.Command, _ int64, _ bool) {
				mu.Lock()
				defer mu.Unlock()
				arrived[i] = append(arrived[i], cmd.Purpose)
			}
			opts := []redlock.Option{
				redlock.WithTTL(ttl), redlock.WithTimeout(timeout),
				redlock.WithHooks(redlock.Hooks{Decided: func(redlock.Decision) { time.Sleep(pause) }}),
			}
			if sequential {
				opts = append(opts, redlock.WithSequential())
			}
			if fencing {
				opts = append(opts, redlock.WithFencing())
			}
			c := open(t, m, opts...)
			start := time.Now()
			lease, err := c.TryLock(context.Background(), "k")
			returned := time.Now()
			const validity = ttl - ttl/100 - 2*time.Millisecond
			if err == nil {
				if !won {
					return fmt.Errorf("granted with %d of %d", yesses, n)
				}
				if lease.Until().Sub(start) != validity {
					return fmt.Errorf("until %v after the start", lease.Until().Sub(start))
				}
				if !returned.Before(lease.Until()) {
					return fmt.Errorf("dead on arrival: %v after its end", returned.Sub(lease.Until()))
				}
				return nil
			}
			made := anySaid(fates) && fencing // a reply that was made up: the key is not there for a write-back
			inTime := pause < 900*time.Millisecond && (!sequential || spent < 900*time.Millisecond)
			if won && inTime && !made {
				return fmt.Errorf("not granted with %d of %d: %v", yesses, n, err)
			}
			if won && !made && !errors.Is(err, redlock.ErrExpired) {
				return fmt.Errorf("a late quorum is %v", err)
			}
			time.Sleep(5 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			for i := range n {
				if asked[i][0] != redlock.Set || asked[i][len(asked[i])-1] != redlock.Release {
					return fmt.Errorf("m%d was asked %v", i+1, asked[i])
				}
				if a := arrived[i]; a[len(a)-1] != redlock.Release {
					return fmt.Errorf("m%d got %v", i+1, a)
				}
			}
			if !m.empty("k") {
				return errors.New("a key is left")
			}
			return nil
		})
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

// inBubble is bubble for a law: what is wrong is returned, because rapid must hear
// of it outside.
func inBubble(t *testing.T, f func(*testing.T) error) (err error) {
	synctest.Test(t, func(t *testing.T) {
		err = f(t)
		settle()
	})
	return err
}

func anySaid(fates []fate) bool {
	for _, f := range fates {
		if f.said != nil {
			return true
		}
	}
	return false
}

// fateOf draws what happens to a command, within a time each way.
func fateOf(slowest time.Duration) *rapid.Generator[fate] {
	return rapid.Custom(func(t *rapid.T) fate {
		f := fate{
			arrives: time.Duration(rapid.Int64Range(0, int64(slowest/time.Millisecond)).Draw(t, "arrives")) * time.Millisecond,
			returns: time.Duration(rapid.Int64Range(0, int64(slowest/time.Millisecond)).Draw(t, "returns")) * time.Millisecond,
		}
		switch rapid.SampledFrom([]string{"", "", "", "", "no", "lost", "mute", "refused"}).Draw(t, "fate") {
		case "no":
			f.said = no.said
		case "lost":
			f.lost = true
		case "mute":
			f.mute = true
		case "refused":
			f.refused = true
		}
		return f
	})
}

// No two leases on one key are valid at the same time, whatever the network does to
// the commands, wherever clients stop, and as fast as masters' clocks may run within
// the allowance. A quorum of masters stores the token until the lease's end, and
// fencing tokens grow.
func TestExclusion(t *testing.T) {
	granted := 0
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(rt, "masters")
		clients := rapid.IntRange(2, 3).Draw(rt, "clients")
		rounds := rapid.IntRange(1, 4).Draw(rt, "rounds")
		var fast []float64
		for range n {
			fast = append(fast, rapid.SampledFrom([]float64{0, 0.01, -0.01}).Draw(rt, "fast"))
		}
		calm := fate{arrives: time.Millisecond}
		fates := rapid.SliceOfN(rapid.OneOf(rapid.Just(calm), rapid.Just(calm), fateOf(80*time.Millisecond)), 1, 60).Draw(rt, "fates")
		pauses := rapid.SliceOfN(rapid.SampledFrom([]time.Duration{0, 0, 0, 20, 150, 195, 250}), 1, 20).Draw(rt, "pauses")
		holds := rapid.SliceOfN(rapid.SampledFrom([]time.Duration{0, 5, 50, 150, 300}), 1, 20).Draw(rt, "holds")

		problem := inBubble(t, func(t *testing.T) error {
			m := newFakeMasters(n)
			for i := range m.masters {
				m.masters[i].fast = fast[i]
			}
			var mu sync.Mutex
			next := map[string]int{}
			turn := func(of string, among int) int {
				mu.Lock()
				defer mu.Unlock()
				next[of]++
				return next[of] % among
			}
			m.fate = func(int, protocol.Command) fate {
				f := fates[turn("fate", len(fates))]
				f.said = nil // masters are faithful here
				return f
			}
			w := &witness{masters: m}
			var wg sync.WaitGroup
			for range clients {
				c := open(t, m, redlock.WithTTL(200*time.Millisecond), redlock.WithFencing(),
					redlock.WithRetryDelay(time.Millisecond, 5*time.Millisecond),
					redlock.WithHooks(redlock.Hooks{Decided: func(redlock.Decision) {
						time.Sleep(pauses[turn("pause", len(pauses))] * time.Millisecond)
					}}))
				wg.Go(func() {
					for range rounds {
						ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
						lease, err := c.Lock(ctx, "k")
						if err == nil {
							held := w.began(lease)
							for range 2 {
								time.Sleep(holds[turn("hold", len(holds))] * time.Millisecond)
								if longer, err := lease.Extend(ctx); err == nil {
									lease = longer
									w.extended(held, lease)
								}
							}
							w.ends(held)
							lease.Unlock(ctx)
						}
						cancel()
					}
				})
			}
			wg.Wait()
			granted += len(w.held)
			return w.problem()
		})
		if problem != nil {
			rt.Fatal(problem)
		}
	})
	if granted < 50 {
		t.Errorf("only %d leases were granted: this shows nothing", granted)
	}
}

// witness writes down who held the lock, and from when to when.
type witness struct {
	masters *fakeMasters
	mu      sync.Mutex
	held    []*interval
	err     error
}

type interval struct {
	token      string
	fence      int64
	from, till time.Time
}

func (w *witness) began(l *redlock.Lease) *interval {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := &interval{l.Token(), l.Fence(), time.Now(), l.Until()}
	w.held = append(w.held, i)
	w.check(i)
	return i
}

func (w *witness) extended(i *interval, l *redlock.Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i.till = l.Until()
	w.check(i)
}

// ends is called before Unlock: what follows is no longer the holder's.
func (w *witness) ends(i *interval) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Before(i.till) {
		i.till = now
	}
}

// check looks into the masters: a quorum must keep the key until the lease ends.
func (w *witness) check(i *interval) {
	if !time.Now().Before(i.till) {
		return
	}
	w.masters.mu.Lock()
	defer w.masters.mu.Unlock()
	kept := 0
	for _, m := range w.masters.masters {
		if k := m.keys["k"]; k.token == i.token && !k.ends.Before(i.till) {
			kept++
		}
	}
	if kept < len(w.masters.masters)/2+1 && w.err == nil {
		w.err = fmt.Errorf("only %d of %d masters keep the key until the lease ends", kept, len(w.masters.masters))
	}
}

func (w *witness) problem() error {
	if w.err != nil {
		return w.err
	}
	tokens := map[string]bool{}
	for a, i := range w.held {
		if tokens[i.token] {
			return fmt.Errorf("the token of lease %d repeats", a)
		}
		tokens[i.token] = true
		for b, j := range w.held[a+1:] {
			if i.from.Before(j.till) && j.from.Before(i.till) {
				return fmt.Errorf("leases %d and %d are valid at the same time", a, a+1+b)
			}
			if i.fence >= j.fence {
				return fmt.Errorf("lease %d has the fencing token %d, a later one %d", a, i.fence, j.fence)
			}
		}
	}
	return nil
}
