package checker

import (
	"testing"
	"time"

	"lockpick/history"
)

// TestCausesOfKeysThatStay: an acquire that nobody answers is not a call that a client waited for while it had a lease, and what
// masters still stored is the cause.
func TestCausesOfKeysThatStay(t *testing.T) {
	const stuck = "1s nemesis healed bound=5s\n1s c2 acquire invoke k0\n6200ms c2 acquire fail k0\n"
	for _, x := range []struct {
		name, how string
		of        Property
		kind      history.LockKind
		text      string
	}{
		{"a token that a master stored", "left", DeadlockFree, history.Mutex, "100ms m1 state up keys=k0:t1\n100ms m2 state up keys=k0:t1\n"},
		{"the token of a client that has the lock", "availability", Availability, history.Mutex, "100ms c1 acquire ok k0 t1 until=9s\n200ms m1 state up keys=k0:t1\n200ms m2 state up keys=k0:t1\n"},
		{"a key of a semaphore", "left", DeadlockFree, history.Semaphore, "500ms m1 change created k0 c1\n"},
		{"a key of a semaphore that was deleted", "unexplained", DeadlockFree, history.Semaphore, "500ms m1 change created k0 c1\n600ms m1 change deleted k0 c1\n"},
	} {
		header := history.Header{Format: history.FormatVersion, Masters: 3, Quorum: 2, Clients: 2, Keys: 1, TTL: 2 * time.Second, Driver: "sim", Kind: x.kind, Permits: 1}
		h, err := parse(header, x.text+stuck)
		if err != nil {
			t.Fatal(err)
		}
		r := Check(h, x.of).Results[0]
		if len(r.Violations) != 1 {
			t.Fatalf("%s: %s: %s", x.name, r.Verdict, r.Why)
		}
		if how := r.Violations[0].Cause().How; how != x.how {
			t.Errorf("%s: the cause is %q, want %q:\n%v", x.name, how, x.how, r.Violations[0].Reason)
		}
	}
}
