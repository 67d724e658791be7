package judge

import (
	"fmt"
	"testing"
	"time"

	"lockpick/history"
)

// TestWaiting: the longest wait, how often a waiter was overtaken, and how many commands a waiting second costs.
func TestWaiting(t *testing.T) {
	h := &history.History{Header: history.Header{Masters: 1, Quorum: 1, Clients: 3}}
	add := func(at time.Duration, process string, typ history.Type, f string, v *history.Value) {
		h.Ops = append(h.Ops, history.Op{Index: len(h.Ops), Time: at, Process: process, Type: typ, F: f, Key: "k0", Value: v})
	}
	add(0, "c1", history.Invoke, history.FAcquire, nil)
	add(time.Second, "c2", history.Invoke, history.FAcquire, nil)
	add(2*time.Second, "m1", history.OK, history.FVote, &history.Value{Client: "c2", Command: history.CommandSet, Token: "t2", Yes: true})
	add(2*time.Second, "c2", history.OK, history.FAcquire, &history.Value{Token: "t2"})
	add(3*time.Second, "c3", history.Invoke, history.FAcquire, nil)
	add(4*time.Second, "c3", history.OK, history.FAcquire, &history.Value{Token: "t3"})
	add(8*time.Second, "c1", history.OK, history.FAcquire, &history.Value{Token: "t1"})
	if w := waitingOf(history.Pack(h)); w.Longest != 8*time.Second || w.Overtaken != 2 || w.CommandsPerSecond != 0.1 {
		t.Errorf("%+v", w)
	}
}

// TestWaitersThatSleep: a waiter that sends nothing while the lock is free sleeps; one whose command is under way, or that
// waits while another client holds the lock, does not.
func TestWaitersThatSleep(t *testing.T) {
	h := &history.History{Header: history.Header{Masters: 1, Quorum: 1, Clients: 2, TTL: time.Minute}}
	add := func(at time.Duration, process string, typ history.Type, f string, v *history.Value) {
		h.Ops = append(h.Ops, history.Op{Index: len(h.Ops), Time: at, Process: process, Type: typ, F: f, Key: "k0", Value: v})
	}
	const s = time.Second
	asks := func(at time.Duration, client, token string, yes bool) {
		add(at, "m1", history.OK, history.FVote, &history.Value{Client: client, Command: history.CommandSet, Token: token, Yes: yes})
	}
	hold := func(from, to time.Duration, client, token string) {
		asks(from, client, token, true)
		add(from, client, history.OK, history.FAcquire, &history.Value{Token: token, ValidUntil: from + time.Minute})
		add(to, client, history.Invoke, history.FRelease, &history.Value{Token: token})
		add(to, client, history.OK, history.FRelease, &history.Value{Token: token})
	}
	add(0, "c1", history.Invoke, history.FAcquire, nil)
	hold(0, 10*s, "c1", "t1")
	add(10*s, "c2", history.Invoke, history.FAcquire, nil)
	asks(12*s, "c2", "t2", false) // the first 2 s
	hold(17*s, 18*s, "c2", "t2")  // 5 s more
	add(18*s, "c1", history.Invoke, history.FAcquire, nil)
	hold(21*s, 40*s, "c1", "t3") // 3 s
	if w := waitingOf(history.Pack(h)); w.Asleep != 5*s {
		t.Errorf("asleep for %v, want 5s", w.Asleep)
	}
}

// TestHoldersThatAreToldLate: lateness counts from the end of the validity, or from the grant to another client before it.
func TestHoldersThatAreToldLate(t *testing.T) {
	const s = time.Second
	for _, c := range []struct{ until, other, lost, want time.Duration }{
		{10 * s, 20 * s, 12 * s, 2 * s},
		{10 * s, 6 * s, 12 * s, 6 * s},
		{history.Endless, 6 * s, 9 * s, 3 * s},
		{history.Endless, 20 * s, 9 * s, 0},
		{10 * s, 20 * s, 9 * s, 0},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			h := &history.History{Header: history.Header{Masters: 1, Quorum: 1, Clients: 2, TTL: 10 * s}}
			add := func(at time.Duration, process, f string, v *history.Value) {
				h.Ops = append(h.Ops, history.Op{Index: len(h.Ops), Time: at, Process: process, Type: history.OK, F: f, Key: "k0", Value: v})
			}
			add(0, "c1", history.FAcquire, &history.Value{Token: "t1", ValidUntil: c.until})
			other := func() { add(c.other, "c2", history.FAcquire, &history.Value{Token: "t2", ValidUntil: c.other + s}) }
			if c.other < c.lost {
				other()
			}
			add(c.lost, "c1", history.FLost, &history.Value{Token: "t1"})
			if c.other >= c.lost {
				other()
			}
			if w := waitingOf(history.Pack(h)); w.ToldLate != c.want {
				t.Errorf("told %v late, want %v", w.ToldLate, c.want)
			}
		})
	}
}
