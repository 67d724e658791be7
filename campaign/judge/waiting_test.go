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

// TestStarved: grants to others count while a client asks, in acquires that follow each other at once, too, and until it is
// granted the key, pauses or ends. Other keys do not count.
func TestStarved(t *testing.T) {
	var ops []history.Op
	now := time.Duration(0)
	add := func(process string, typ history.Type, f, key string) {
		ops = append(ops, history.Op{Index: len(ops), Time: now, Process: process, Type: typ, F: f, Key: key, Value: &history.Value{Token: fmt.Sprintf("t%d", len(ops))}})
	}
	others := func(n int, key string) {
		for range n {
			now += time.Millisecond
			add("c1", history.Invoke, history.FAcquire, key)
			add("c1", history.OK, history.FAcquire, key)
		}
	}
	asks := func() { add("c2", history.Invoke, history.FAcquire, "k0") }
	ends := func(typ history.Type) { add("c2", typ, history.FAcquire, "k0") }
	asks()
	others(3, "k0")
	others(9, "k1")
	ends(history.Fail)
	now += 200 * time.Millisecond
	asks()
	others(4, "k0")
	ends(history.OK)
	want := func(starved int) {
		t.Helper()
		w := waitingOf(history.Pack(&history.History{Ops: ops}))
		if w.Starved != starved || w.Clients[1].Client != "c2" || w.Clients[1].Starved != starved || w.Clients[0].Starved != 0 {
			t.Errorf("%+v, want starved %d", w, starved)
		}
	}
	want(7)
	asks()
	others(5, "k0")
	ends(history.Fail)
	now += 300 * time.Millisecond // a pause
	asks()
	others(5, "k0")
	add("c2", history.Info, history.FCrash, "")
	asks()
	others(6, "k0")
	want(7)
	others(2, "k0") // it still asks as the run ends
	want(8)
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
