package remote

import (
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/internal/waittest"
	"lockpick/redlock"
	"lockpick/workload"
)

// skew has the process go by a clock, and waits until it says that it does.
func (u *user) skew(t *testing.T, to cluster.Clock) {
	t.Helper()
	if _, err := u.SetClock(to); err != nil {
		t.Fatal(err)
	}
	if to.Rate == 0 {
		to.Rate = 1
	}
	if now := waittest.Receive(t, "it says what it goes by", u.skewed); now != to {
		t.Fatalf("it goes by %+v, and should by %+v", now, to)
	}
}

// TestRate: a lease lasts for its TTL by the clock of the process, and its end is
// told in true time, be the clock skewed before or while it is held.
func TestRate(t *testing.T) {
	u := use(t, "c1", masters(t, 1), 20*time.Second)
	skew := func(rate float64) {
		t.Helper()
		u.skew(t, cluster.Clock{Rate: rate})
	}
	lease := u.mustAcquire(t, "k0")
	until, begun := lease.Until(), time.Now()
	skew(2)
	half := func(skewed time.Time) time.Time { return skewed.Add(until.Sub(skewed) / 2) }
	between(t, "the end of a lease by a clock at rate 2", half(begun).Add(-time.Millisecond), lease.Until(), half(time.Now()))
	begun = time.Now()
	longer, err := lease.Extend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	near(t, longer, 10*time.Second, begun)
	skew(1)
	near(t, longer, 20*time.Second, begun)
	skew(0.5)
	begun = time.Now()
	near(t, u.mustAcquire(t, "k1"), 40*time.Second, begun)

	// The process itself goes by that clock.
	skew(100)
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
	l := c.granted(nil, Request{Key: "k0"}, Message{Value: &history.Value{Token: "t"}, Left: 10 * time.Second, At: monotonic() - int64(3*time.Second)}, begun)
	between(t, "the end of a lease of 10 s, read after 3 s", begun.Add(7*time.Second-time.Millisecond), l.Until(), time.Now().Add(7*time.Second+time.Millisecond))
}

// TestLostSinceWhen: a process may say when a lease was over; that of a lock which promises no time
// is over when it says so.
func TestLostSinceWhen(t *testing.T) {
	begun := time.Now()
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
		var lost time.Time
		client := &Client{leases: map[string]*lease{}, ended: map[string]error{}}
		client.hello.Lease = c.lease
		client.site.Lost = func(key, token string, cause error, at time.Time) {
			if key == "k0" && token == "t" && cause.Error() == "it is gone" {
				lost = at
			}
		}
		client.take(Message{Type: msgEnded, Key: "k0", Value: &history.Value{Token: "t"}, Error: "it is gone", When: c.when})
		if c.want < 0 {
			if !lost.IsZero() {
				t.Errorf("%s: it was lost at %v", c.name, lost)
			}
			continue
		}
		between(t, c.name, begun.Add(-c.want-time.Millisecond), lost, time.Now().Add(-c.want+time.Millisecond))
	}
}
