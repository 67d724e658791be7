package checker

import (
	"strings"
	"testing"
	"time"

	"lockpick/history"
)

// TestLeaseWithoutEndDoesNotViolateMinValidity checks that a lock whose leases have no end does not
// violate min-validity when its key expires, whether the header says so or the lease. The same history
// violates it if the lock promises ten hours or fifty days.
func TestLeaseWithoutEndDoesNotViolateMinValidity(t *testing.T) {
	for _, x := range []struct {
		until    string
		valid    time.Duration
		violated bool
	}{{"", 10 * time.Hour, true}, {"", 50 * 24 * time.Hour, true}, {"", history.Endless, false}, {history.UntilReleased, 10 * time.Hour, false}} {
		h := &history.History{Header: history.Header{Driver: "process", Masters: 1, Quorum: 1, Clients: 1, Keys: 1, TTL: 2 * time.Second, Until: x.until}}
		add := func(at time.Duration, process string, kind history.Type, f string, v history.Value) {
			h.Ops = append(h.Ops, history.Op{Index: len(h.Ops), Time: at, Process: process, Type: kind, F: f, Key: "k0", Value: &v})
		}
		add(0, "c1", history.Invoke, history.FAcquire, history.Value{})
		add(time.Millisecond, "m1", history.OK, history.FVote, history.Value{Token: "t1", Client: "c1", Command: history.CommandSet, Yes: true, TTL: 2 * time.Second})
		add(2*time.Millisecond, "c1", history.OK, history.FAcquire, history.Value{Token: "t1", ValidUntil: x.valid})
		add(5*time.Second, "c1", history.Invoke, history.FRelease, history.Value{Token: "t1"})
		add(6*time.Second, "c1", history.OK, history.FRelease, history.Value{Token: "t1"})
		violated := false
		for _, r := range Check(h).Results {
			violated = violated || r.Name == MinValidity.Name && r.Verdict == Violated
		}
		if violated != x.violated {
			t.Errorf("until %q, valid until %v: violated %v", x.until, x.valid, violated)
		}
	}
}

// TestReasonOfALockThatPromisesNoTime checks that its story names no end of a lease.
func TestReasonOfALockThatPromisesNoTime(t *testing.T) {
	h := &history.History{Header: history.Header{Driver: "process", Masters: 1, Quorum: 1, Clients: 2, Keys: 1, TTL: 2 * time.Second, Until: history.UntilReleased}}
	for i, client := range []string{"c1", "c2"} {
		token, from := "t"+client, time.Duration(3*i)*time.Second
		for _, op := range []history.Op{
			{Time: from, Process: client, Type: history.Invoke, F: history.FAcquire, Value: &history.Value{}},
			{Time: from + time.Millisecond, Process: "m1", Type: history.OK, F: history.FVote, Value: &history.Value{Token: token, Client: client, Command: history.CommandSet, Yes: true, TTL: 2 * time.Second}},
			{Time: from + 2*time.Millisecond, Process: client, Type: history.OK, F: history.FAcquire, Value: &history.Value{Token: token, ValidUntil: history.Endless}},
		} {
			op.Index, op.Key = len(h.Ops), "k0"
			h.Ops = append(h.Ops, op)
		}
	}
	for _, r := range Check(h).Results {
		if r.Name != MutualExclusion.Name {
			continue
		}
		if r.Verdict != Violated || len(r.Violations) == 0 {
			t.Fatalf("%s: %s", r.Verdict, r.Why)
		}
		story := strings.Join(r.Violations[0].Reason, "\n")
		if !strings.Contains(story, "c1 was granted k0, valid until it is released, by the votes of m1") || strings.Contains(story, "valid until 8") {
			t.Errorf("%s", story)
		}
		return
	}
	t.Error("mutual exclusion was not judged")
}
