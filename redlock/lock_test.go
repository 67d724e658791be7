package redlock_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]redlock.Option{
		"no TTL":                          redlock.WithTTL(0),
		"a TTL below 1ms":                 redlock.WithTTL(time.Millisecond - 1),
		"a TTL within the drift":          redlock.WithTTL(2 * time.Millisecond),
		"a negative timeout":              redlock.WithTimeout(-1),
		"a negative drift":                redlock.WithDrift(-0.1, 0),
		"a drift that is not a number":    redlock.WithDrift(math.NaN(), 0),
		"a drift beyond the TTL":          redlock.WithDrift(1e300, 0),
		"a fixed drift beyond the TTL":    redlock.WithDrift(0.5, math.MaxInt64),
		"a negative retry delay":          redlock.WithRetryDelay(-1, 1),
		"retry delays in the wrong order": redlock.WithRetryDelay(2, 1),
		"a negative hold":                 redlock.WithMaxHold(-1),
		"negative attempts":               redlock.WithMaxAttempts(-1),
		"a margin beyond the validity":    redlock.WithMargin(10 * time.Second),
		"no runtime":                      redlock.WithRuntime(nil),
	} {
		m := newFakeMasters(3)
		if _, err := redlock.NewWithMasters(m, o); err == nil || !strings.HasPrefix(err.Error(), "redlock: ") {
			t.Errorf("%s: New says %v", name, err)
		}
		call, ok := o.(redlock.CallOption)
		if !ok { // it is for New alone
			continue
		}
		c := open(t, m)
		if _, err := c.Lock(t.Context(), "k", call); err == nil {
			t.Errorf("%s: Lock takes it", name)
		}
	}
	if _, err := redlock.NewWithMasters(newFakeMasters(0)); err == nil {
		t.Error("no masters are enough")
	}
	if _, err := open(t, newFakeMasters(1)).TryLock(t.Context(), ""); err == nil {
		t.Error("an empty key is enough")
	}
}

func TestQuorumIsAMajorityOfAllMasters(t *testing.T) {
	for n, quorum := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4} {
		if got := open(t, newFakeMasters(n)).Quorum(); got != quorum {
			t.Errorf("%d of %d; want %d", got, n, quorum)
		}
	}
}

// The timeout per master follows the TTL of the lock that is being taken.
func TestTimeoutFollowsTTL(t *testing.T) {
	for ttl, timeout := range map[time.Duration]time.Duration{
		200 * time.Millisecond: 10 * time.Millisecond,
		time.Minute:            50 * time.Millisecond,
	} {
		bubble(t, func(t *testing.T) {
			m := newFakeMasters(1)
			m.fate = func(int, protocol.Command) fate { return silent }
			start := time.Now()
			var took time.Duration
			m.voted = func(v redlock.Vote) {
				if v.Purpose == redlock.Set {
					took = time.Since(start).Truncate(time.Microsecond)
				}
			}
			open(t, m).TryLock(t.Context(), "k", redlock.WithTTL(ttl))
			if took != timeout {
				t.Errorf("with a TTL of %v a master has %v; want %v", ttl, took, timeout)
			}
		})
	}
}

// Every delay is within the bounds, and they differ; every attempt has a token of
// its own, of 20 random bytes.
func TestRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const least, most = 20 * time.Millisecond, 120 * time.Millisecond
		m := newFakeMasters(3)
		m.fate = func(int, protocol.Command) fate { return no }
		tokens := map[string]bool{}
		var delays []time.Duration
		var released time.Time
		m.asked = func(cmd protocol.Command, _ []int) {
			if cmd.Purpose == redlock.Set {
				if len(cmd.Token) != 40 || tokens[cmd.Token] {
					t.Errorf("token %q", cmd.Token)
				}
				tokens[cmd.Token] = true
				if !released.IsZero() {
					delays = append(delays, time.Since(released).Truncate(time.Millisecond)-time.Millisecond)
				}
			}
			released = time.Now()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := open(t, m, redlock.WithRetryDelay(least, most)).Lock(ctx, "k")
		var failure *redlock.Error
		if !errors.Is(err, redlock.ErrTaken) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &failure) {
			t.Fatal(err)
		}
		if failure.Attempts != len(tokens) || failure.Attempts < 30 || failure.Attempts > 5000/20 {
			t.Errorf("%d attempts with %d tokens", failure.Attempts, len(tokens))
		}
		lowest, highest := most, time.Duration(0)
		for _, d := range delays {
			if d < least || d > most {
				t.Errorf("a delay of %v", d)
			}
			lowest, highest = min(lowest, d), max(highest, d)
		}
		if lowest > 40*time.Millisecond || highest < 100*time.Millisecond {
			t.Errorf("delays from %v to %v: they are not drawn from the whole range", lowest, highest)
		}
	})
}

// A function of one's own says how long the delays are.
func TestRetryDelayFunc(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		m.fate = func(int, protocol.Command) fate { return no }
		var asked []time.Duration
		began := time.Now()
		m.asked = func(cmd protocol.Command, _ []int) {
			if cmd.Purpose == redlock.Set {
				asked = append(asked, time.Since(began).Round(10*time.Millisecond))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		doubled := redlock.WithRetryDelayFunc(func(attempt int) time.Duration {
			if attempt == 1 {
				return -time.Hour // at once
			}
			return 100 * time.Millisecond << attempt
		})
		if _, err := open(t, m, doubled, redlock.WithTimeout(time.Second)).Lock(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if want := []time.Duration{0, 0, 400 * time.Millisecond}; !slices.Equal(asked, want) {
			t.Errorf("attempts at %v, want %v", asked, want)
		}
	})
}

// What Lock reports when ctx ends is why the lock could not be had, not that the
// last attempt was cut short.
func TestDeadlineInTheMiddleOfAnAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		attempts := 0
		m.asked = func(cmd protocol.Command, _ []int) {
			if cmd.Purpose == redlock.Set {
				attempts++
			}
		}
		m.fate = func(int, protocol.Command) fate {
			if attempts > 1 {
				return silent
			}
			return no
		}
		cause := errors.New("the shop closes")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, cause)
		defer cancel()
		_, err := open(t, m, redlock.WithTimeout(time.Second)).Lock(ctx, "k")
		for _, want := range []error{redlock.ErrTaken, context.DeadlineExceeded, cause} {
			if !errors.Is(err, want) {
				t.Errorf("%v is not %v", err, want)
			}
		}
		if errors.Is(err, redlock.ErrNoQuorum) || strings.Contains(err.Error(), "\n") {
			t.Error(err)
		}
	})
}

func TestEndedContextTriesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		asked := 0
		m.asked = func(protocol.Command, []int) { asked++ }
		c := open(t, m)
		lease, err := c.Lock(t.Context(), "held")
		if err != nil {
			t.Fatal(err)
		}
		asked = 0
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, lock := c.Lock(ctx, "k")
		_, try := c.TryLock(ctx, "k")
		do := c.Do(ctx, "k", func(context.Context) error { t.Error("f runs"); return nil })
		_, extend := lease.Extend(ctx)
		for _, err := range []error{lock, try, do, extend} {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if asked != 0 {
			t.Errorf("%d commands were sent", asked)
		}
		if lease.Context().Err() != nil {
			t.Error("the lease has ended with the context of a call")
		}
		// Unlock is sent all the same.
		lease.Unlock(ctx)
		settle()
		if asked != 1 || !m.empty("held") {
			t.Error("the lock was not released")
		}
	})
}

// Masters' errors are found through the error, each by its name.
func TestErrorsCarryCauses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3)
		m.fate = func(i int, _ protocol.Command) fate { return []fate{refuses, silent, yes}[i] }
		_, err := open(t, m).TryLock(t.Context(), "k")
		var failure *redlock.Error
		if !errors.As(err, &failure) || failure.Op != "lock" || failure.Key != "k" || failure.Attempts != 1 || len(failure.Votes) != 3 {
			t.Fatalf("%#v", err)
		}
		for _, want := range []error{redlock.ErrNoQuorum, errRefused, errSilent} {
			if !errors.Is(err, want) {
				t.Errorf("%v is not %v", err, want)
			}
		}
		for _, not := range []error{redlock.ErrTaken, redlock.ErrExpired, context.Canceled} {
			if errors.Is(err, not) {
				t.Errorf("%v is %v", err, not)
			}
		}
		const text = `redlock: lock "k": too few masters answered (1 yes, 0 no, 2 failed; m1: connection refused; m2: i/o timeout)`
		if err.Error() != text {
			t.Error(err)
		}
	})
}

// A context's values, not its end, are the lease's.
func TestLeaseOutlivesTheContextOfLock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type name struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), name{}, "ada"))
		lease, err := open(t, newFakeMasters(3), redlock.WithTTL(time.Second)).Lock(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if lease.Context().Err() != nil || lease.Context().Value(name{}) != "ada" {
			t.Error("the lease's context is not its own")
		}
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, redlock.ErrExpired) {
			t.Error(cause)
		}
		if now := time.Now(); now.Before(lease.Until()) {
			t.Errorf("it ended %v early", lease.Until().Sub(now))
		}
	})
}

// A client that is stopped between the votes on its extension and what follows from
// them does not undo another extension that was made meanwhile.
func TestExtensionsAtTheSameTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var extensions atomic.Int32
		c := open(t, newFakeMasters(3), redlock.WithTTL(time.Second), redlock.WithHooks(redlock.Hooks{
			Decided: func(d redlock.Decision) {
				if d.Purpose == redlock.Extend {
					if extensions.Add(1) == 1 {
						time.Sleep(100 * time.Millisecond)
					}
				}
			},
		}))
		lease, err := c.Lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		var stopped, quick *redlock.Lease
		var wg sync.WaitGroup
		wg.Go(func() { stopped, _ = lease.Extend(t.Context()) })
		time.Sleep(50 * time.Millisecond)
		wg.Go(func() { quick, _ = lease.Extend(t.Context()) })
		wg.Wait()
		if stopped == nil || quick == nil || !lease.Until().Before(quick.Until()) {
			t.Fatal(lease, stopped, quick)
		}
		<-lease.Context().Done()
		if time.Now().Before(quick.Until()) {
			t.Error("the context has ended before the latest extension")
		}
	})
}

// noTimers is real time whose timers are late: they never fire.
type noTimers struct{ protocol.RealTime }

func (noTimers) AfterFunc(time.Duration, func()) (stop func() bool) {
	return func() bool { return true }
}

// A lease is over when its time is up, whether or not a timer had its chance.
func TestLateTimers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := open(t, newFakeMasters(3), redlock.WithTTL(time.Second), redlock.WithRuntime(noTimers{}))
		lease, err := c.Lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := lease.Extend(t.Context()); !errors.Is(err, redlock.ErrExpired) {
			t.Error(err)
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, redlock.ErrExpired) {
			t.Error(cause)
		}
		err = c.Do(t.Context(), "k", func(context.Context) error {
			time.Sleep(time.Second)
			return nil
		}, redlock.WithMaxHold(1))
		if !errors.Is(err, redlock.ErrExpired) {
			t.Error(err)
		}
	})
}

// Split votes: two clients in step, each with half of the masters, get neither the
// lock nor stuck.
func TestSplitVotes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(4)
		sets := map[int]int{}
		m.fate = func(i int, cmd protocol.Command) fate {
			f := fate{arrives: time.Millisecond}
			if cmd.Purpose == redlock.Set { // the first client reaches the first half of the masters first, the second client the other half
				if sets[i]++; sets[i] == 1 == (i < 2) {
					f.arrives = 500 * time.Microsecond
				}
			}
			return f
		}
		var mu sync.Mutex
		lost, won := 0, 0
		var wg sync.WaitGroup
		for range 2 {
			c := open(t, m, redlock.WithHooks(redlock.Hooks{Attempt: func(a redlock.Attempt) {
				mu.Lock()
				defer mu.Unlock()
				if a.Err == nil {
					won++
				} else if errors.Is(a.Err, redlock.ErrTaken) {
					lost++
				}
			}}))
			wg.Go(func() {
				lease, err := c.Lock(t.Context(), "k")
				if err != nil {
					t.Error(err)
					return
				}
				lease.Unlock(t.Context())
			})
			time.Sleep(time.Microsecond)
		}
		wg.Wait()
		if lost < 2 || won != 2 {
			t.Errorf("%d attempts failed, %d succeeded", lost, won)
		}
	})
}

// Close lets what is under way finish, with its release, and nothing new begin.
func TestCloseDuringUse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newFakeMasters(3) // it panics at a command after its Close
		m.fate = func(i int, cmd protocol.Command) fate {
			if cmd.Purpose == redlock.Set && i == 0 {
				return fate{arrives: 20 * time.Millisecond}
			}
			return no
		}
		c := open(t, m, redlock.WithRetryDelay(time.Millisecond, 2*time.Millisecond))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := c.Lock(t.Context(), "k"); !errors.Is(err, redlock.ErrClosed) {
					t.Error(err)
				}
			})
		}
		time.Sleep(10*time.Millisecond + 500*time.Microsecond)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if err := c.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
		if _, err := c.TryLock(t.Context(), "k"); !errors.Is(err, redlock.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestLeaseAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := open(t, newFakeMasters(3))
		lease, err := c.Lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // late votes
		c.Close()
		if _, err := lease.Extend(t.Context()); !errors.Is(err, redlock.ErrClosed) {
			t.Error(err)
		}
		if err := lease.Unlock(t.Context()); !errors.Is(err, redlock.ErrClosed) {
			t.Error(err)
		}
		if lease.Context().Err() == nil {
			t.Error("the lease goes on after Unlock")
		}
	})
}
