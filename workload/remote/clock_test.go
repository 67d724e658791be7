package remote

import (
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/workload"
)

// bend has the process go by a clock, and waits until it says that it does.
func (u *user) bend(t *testing.T, to cluster.Clock) {
	t.Helper()
	if _, err := u.SetClock(to); err != nil {
		t.Fatal(err)
	}
	if to.Rate == 0 {
		to.Rate = 1
	}
	select {
	case now := <-u.bent:
		if now != to {
			t.Fatalf("it goes by %+v, and should by %+v", now, to)
		}
	case <-time.After(hang):
		t.Fatal("it does not say what it goes by")
	}
}

// TestRate: a lease lasts for its TTL by the clock of the process, and its end is
// told in true time, be the clock bent before or while it is held.
func TestRate(t *testing.T) {
	u := use(t, "c1", masters(t, 1), 20*time.Second)
	bend := func(rate float64) {
		t.Helper()
		u.bend(t, cluster.Clock{Rate: rate})
	}
	lease := u.mustAcquire(t, "k0")
	left, begun := time.Until(lease.Until()), time.Now()
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
	if _, err := u.SetClock(cluster.Clock{Rate: -1}); err == nil {
		t.Error("the rate -1 was taken")
	}
}

// TestReadLate: until when a lease is valid does not hang on when its outcome is read.
func TestReadLate(t *testing.T) {
	c := &Client{leases: map[string]*lease{}}
	begun := time.Now()
	l := c.granted(nil, "k0", "", Message{Value: &history.Value{Token: "t"}, Left: 10 * time.Second, At: monotonic() - int64(3*time.Second)}, begun)
	if off := l.Until().Sub(begun) - 7*time.Second; off.Abs() > time.Second {
		t.Errorf("a lease of 10 s, read after 3 s, ends in %v", l.Until().Sub(begun))
	}
}

// TestLostSinceWhen: a process may say when a lease was over; that of a lock which promises no time
// is over when it says so.
func TestLostSinceWhen(t *testing.T) {
	for _, c := range []struct {
		name  string
		lease string
		when  int64
		want  time.Duration // ago; -1: it is not recorded
	}{
		{"with the time", "", monotonic() - int64(2*time.Second), 2 * time.Second},
		{"without", "", 0, -1},
		{"without, of a lock that promises no time", workload.NoLease, 0, 0},
	} {
		got := time.Duration(-1)
		client := &Client{leases: map[string]*lease{}, ended: map[string]error{}}
		client.hello.Lease = c.lease
		client.site.Lost = func(key, token string, cause error, at time.Time) {
			if key == "k0" && token == "t" && cause.Error() == "it is gone" {
				got = time.Since(at)
			}
		}
		client.take(Message{Type: msgEnded, Key: "k0", Value: &history.Value{Token: "t"}, Error: "it is gone", When: c.when})
		if (got < 0) != (c.want < 0) || (got-c.want).Abs() > time.Second {
			t.Errorf("%s: it was lost %v ago, want %v", c.name, got, c.want)
		}
	}
}
