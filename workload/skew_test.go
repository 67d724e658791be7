package workload

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// TestSkew: when a client's clock is skewed while it holds a lease, the true end of that
// is recorded, and the client leaves by its own clock, asleep or not.
func TestSkew(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name        string
		process     bool
		rate        float64
		ends, leave time.Duration // of a lease until 1 s, skewed at 300 ms; the margin is 50 ms
	}{
		{"fast", false, 2, 650 * ms, 625 * ms},
		{"slow", false, 0.5, 1700 * ms, 1600 * ms},
		{"a fast process", true, 2, 650 * ms, 600 * ms}, // its lease's end is told in true time, and so is the margin
		{"a slow process", true, 0.5, 1700 * ms, 1650 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lock := fake(func(*fakeLock) {})
				var made []*fakeProcess
				if c.process {
					lock = processes(&made, func(*fakeProcess) {})
				}
				s := on(t, one(lock), nil)
				s.runtime.AfterFunc(300*ms, func() {
					if err := s.Pauses.SetClock("c1", cluster.Clock{Rate: c.rate}); err != nil {
						t.Error(err)
					}
				})
				s.Run(s.ending(3 * time.Second))
				left := time.Duration(-1)
				skewed := false
				for _, op := range s.of("c1") {
					switch {
					case op.F == history.FClock:
						skewed = true
						if op.Type != history.Info || op.Key != "k0" || op.Value.Token != "t1" || op.Value.Rate != c.rate || op.Value.ValidUntil != c.ends {
							t.Errorf("%s: rate %v", line(op), op.Value.Rate)
						}
					case op.F == history.FLeave && left < 0:
						left = op.Time
					case op.F == history.FAcquire && op.Type == history.OK && skewed: // the next one, by the skewed clock
						skewed = false
						if want := op.Time + time.Duration(float64(time.Second)/c.rate); op.Value.ValidUntil != want {
							t.Errorf("%s, want %v", line(op), want)
						}
					}
				}
				if left != c.leave {
					t.Errorf("it left at %v, want %v", left, c.leave)
				}
			})
		})
	}
}

// TestSkewNobody: without a lease only the rate is recorded; a rate that is none, and a
// client that is none, are refused.
func TestSkewNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := on(t, one(fake(func(*fakeLock) {})), nil)
		if err := s.Pauses.SetClock("c1", cluster.Clock{Rate: 1.5}); err != nil {
			t.Error(err)
		}
		if len(s.ops) != 1 || s.ops[0].Value.Token != "" || s.ops[0].Value.ValidUntil != 0 || s.ops[0].Value.Rate != 1.5 {
			t.Errorf("recorded %+v", s.ops)
		}
		for _, rate := range []float64{-1, math.NaN()} {
			if s.Pauses.SetClock("c1", cluster.Clock{Rate: rate}) == nil {
				t.Errorf("the rate %v was taken", rate)
			}
		}
		if s.Pauses.SetClock("c2", cluster.Clock{}) == nil {
			t.Error("there is no c2")
		}
		if len(s.ops) != 1 {
			t.Errorf("recorded %q", steps(s.ops))
		}
	})
}

// TestSkewedForLife: a process that starts anew has the clock of its machine, also when
// that was skewed while it was gone.
func TestSkewedForLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made []*fakeProcess
		s := on(t, one(processes(&made, func(*fakeProcess) {})), nil)
		at := func(d time.Duration, rate float64) {
			s.runtime.AfterFunc(d, func() {
				if err := s.Pauses.SetClock("c1", cluster.Clock{Rate: rate}); err != nil {
					t.Error(err)
				}
			})
		}
		at(100*time.Millisecond, 2)
		at(time.Second, 3)
		s.runtime.AfterFunc(500*time.Millisecond, func() {
			revive := s.Pauses.Kill([]string{"c1"}, "")
			s.runtime.AfterFunc(time.Second, func() { revive() })
		})
		s.Run(s.ending(2 * time.Second))
		if len(made) != 2 || made[1].clock.rate != 3 {
			t.Fatalf("%d processes", len(made))
		}
		for _, op := range s.of("c1") {
			if op.F == history.FClock && op.Value.Rate == 3 && op.Value.Token != "" {
				t.Errorf("nobody held this: %s", line(op))
			}
			if op.F == history.FAcquire && op.Type == history.OK && op.Time >= 1500*time.Millisecond && op.Value.ValidUntil-op.Time != time.Second/3 {
				t.Errorf("%s", line(op))
			}
		}
	})
}
