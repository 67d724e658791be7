package judge

import (
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
