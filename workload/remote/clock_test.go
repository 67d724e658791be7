package remote

import (
	"strings"
	"testing"
	"time"

	"lockpick/history"
	"lockpick/redlock"
	"lockpick/workload"
)

// TestSetRate: a lease lasts for its TTL by the clock of the process, and its end is
// told in true time, be the clock bent before or while it is held.
func TestSetRate(t *testing.T) {
	u := use(t, "c1", masters(t, 1), 20*time.Second)
	bend := func(rate float64) {
		t.Helper()
		if err := u.SetRate(rate); err != nil {
			t.Fatal(err)
		}
	}
	lease := u.mustAcquire(t, "k0")
	left := time.Until(lease.Until())
	begun := time.Now()
	bend(2)
	if got, off := time.Until(lease.Until()), time.Since(begun); got > left/2 || got < left/2-2*off-time.Millisecond {
		t.Errorf("of %v a clock at rate 2 leaves %v", left, got)
	}
	begun = time.Now()
	longer, err := lease.Extend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	near(t, longer, 10*time.Second, begun)
	bend(1)
	near(t, longer, 20*time.Second, begun)
	bend(0.5)
	begun = time.Now()
	near(t, u.mustAcquire(t, "k1"), 40*time.Second, begun)

	// The process itself goes by that clock.
	bend(100)
	short := u.mustAcquire(t, "k2")
	if cause := over(t, short); !strings.Contains(cause.Error(), redlock.ErrExpired.Error()) {
		t.Errorf("it is over because of %v", cause)
	}
	if err := write(short, 1); workload.Outcome(err) != history.Fail {
		t.Errorf("a write after the end: %v", err)
	}
	for _, rate := range []float64{0, -1} {
		if u.SetRate(rate) == nil {
			t.Errorf("the rate %v was taken", rate)
		}
	}
}

// TestReadLate: until when a lease is valid does not hang on when its outcome is read.
func TestReadLate(t *testing.T) {
	c := &Client{leases: map[string]*lease{}}
	begun := time.Now()
	l, err := c.granted("k0", Message{Value: &history.Value{Token: "t"}, Left: 10 * time.Second, At: monotonic() - int64(3*time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if off := l.Until().Sub(begun) - 7*time.Second; off.Abs() > time.Second {
		t.Errorf("a lease of 10 s, read after 3 s, ends in %v", l.Until().Sub(begun))
	}
}
