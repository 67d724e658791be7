package workload

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"lockpick/cluster"
	"lockpick/redlock/protocol"
)

// rates draws those that a clock can run at.
func rates() *rapid.Generator[float64] {
	return rapid.SampledFrom([]float64{0.01, 0.5, 0.99, 1, 1.01, 1.5, 2, 100})
}

// off says whether two times differ by more than the rounding of nanoseconds.
func off(a, b time.Time, rate float64) bool {
	return a.Sub(b).Abs() > time.Duration(2+2/rate)
}

// TestClockLaws: a clock never goes back, does not step when its rate changes or its wall
// clock does, counts at its rate in between, and knows when, in truth, it shows a time.
func TestClockLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			runtime := protocol.RealTime{}
			c := NewClock(runtime)
			if !c.Now().Equal(runtime.Now()) {
				t.Fatal("a clock is wrong from the start")
			}
			rate, last, ahead := 1.0, c.Now(), time.Duration(0)
			for range rapid.IntRange(1, 20).Draw(t, "steps") {
				if rapid.Bool().Draw(t, "skew") {
					before := c.Now()
					rate = rates().Draw(t, "rate")
					ahead = time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "ahead"))
					c.Set(cluster.Clock{Rate: rate, Offset: ahead})
					if now := c.Now(); !now.Equal(before) {
						t.Fatalf("it stepped by %v when its rate became %v", now.Sub(before), rate)
					}
				}
				passed := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "passed"))
				before := c.Now()
				time.Sleep(passed)
				now := c.Now()
				if got := c.Wall().Sub(now.Round(0)); got != ahead {
					t.Fatalf("the wall clock is %v ahead, want %v", got, ahead)
				}
				if now.Before(last) {
					t.Fatalf("it went back by %v", last.Sub(now))
				}
				if want := before.Add(time.Duration(float64(passed) * rate)); off(now, want, 1) {
					t.Fatalf("in %v at rate %v it counted %v", passed, rate, now.Sub(before))
				}
				if got := c.True(now); off(got, runtime.Now(), rate) {
					t.Fatalf("it shows this %v before now", runtime.Now().Sub(got))
				}
				truth := runtime.Now().Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "true")))
				if got := c.True(c.shows(truth)); off(got, truth, rate) {
					t.Fatalf("what it shows at a time is shown %v later", got.Sub(truth))
				}
				last = now
			}
		})
	})
}

// TestClockSleeps: who sleeps by a clock, and what is to happen by it, wakes when it
// shows the time.
func TestClockSleeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			c := NewClock(protocol.RealTime{})
			rate := rates().Draw(t, "rate")
			c.Set(cluster.Clock{Rate: rate})
			d := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "d"))
			begun, want := time.Now(), time.Duration(math.Ceil(float64(d)/rate)) // not before it shows the time
			var rang time.Duration
			c.AfterFunc(d, func() { rang = time.Since(begun) })
			if err := c.Sleep(context.Background(), d); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if slept := time.Since(begun); slept != want || rang != want {
				t.Fatalf("slept %v, rang after %v, want %v", slept, rang, want)
			}
			ctx, end := context.WithCancelCause(context.Background())
			end(errTimeUp)
			if err := c.Sleep(ctx, d); err != errTimeUp {
				t.Fatalf("an end of its context woke it with %v", err)
			}
		})
	})
}

// Who waits on a clock until it shows a time, and looks again, gets there: the shortest
// wait takes some time in truth, at any rate.
func TestNoWaitIsForNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewClock(protocol.RealTime{})
		c.Set(cluster.Clock{Rate: rates().Draw(t, "rate")})
		d := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "wait"))
		if got := c.truly(d); got <= 0 {
			t.Fatalf("a wait of %v takes %v", d, got)
		}
	})
}
