package judge

import (
	"testing"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// overlapping is a history of a service in which c2 is granted k0 while c1 still holds it; m2 takes over in between, if it does.
func overlapping(key string, from time.Duration, takeover bool) []history.Op {
	grant := func(at time.Duration, client, token string) []history.Op {
		return []history.Op{
			{Time: from + at, Process: client, Type: history.Invoke, F: history.FAcquire, Key: key},
			{Time: from + at, Process: client, Type: history.OK, F: history.FAcquire, Key: key, Value: &history.Value{Token: token, ValidUntil: from + at + 9*time.Second}},
		}
	}
	release := func(client, token string) history.Op {
		return history.Op{Time: from + 3*time.Second, Process: client, Type: history.Invoke, F: history.FRelease, Key: key, Value: &history.Value{Token: token}}
	}
	ops := grant(0, "c1", key+"a")
	if takeover {
		ops = append(ops, history.Op{Time: from + time.Second, Process: "m2", Type: history.Info, F: history.FElected, Value: &history.Value{Evidence: "MASTER MODE enabled"}})
	}
	return append(append(ops, grant(2*time.Second, "c2", key+"b")...), release("c1", key+"a"), release("c2", key+"b"))
}

// TestATakeoverExcusesOnlyWhatItExplains: a violation with a takeover in its story is inherent where servers replicate
// asynchronously. The lock is to blame if they do not, or if the same happens without a takeover.
func TestATakeoverExcusesOnlyWhatItExplains(t *testing.T) {
	with, without := overlapping("k0", 5*time.Second, true), overlapping("k1", 0, false)
	after := overlapping("k2", 40*time.Second, false)
	for _, c := range []struct {
		name         string
		asynchronous bool
		ops          []history.Op
		want         string
	}{
		{"a takeover", true, with, "complete replicas"},
		{"a takeover of a store that loses nothing", false, with, ""},
		{"no takeover", true, without, ""},
		{"one with a takeover, and one without", true, append(without[:len(without):len(without)], with...), ""},
		{"long after a takeover", true, append(with[:len(with):len(with)], after...), "complete replicas"},
	} {
		h := &history.History{Header: history.Header{Service: "store", Asynchronous: c.asynchronous, Settle: time.Second, Masters: 3, TTL: 9 * time.Second, Persistence: history.OwnPersistence}}
		for i, op := range c.ops {
			op.Index = i + 1
			h.Ops = append(h.Ops, op)
		}
		r, err := History(h)
		if err != nil {
			t.Fatal(err)
		}
		v := r.ResultOf(checker.MutualExclusion)
		if v == nil || v.Verdict != checker.Violated {
			t.Fatalf("%s: mutual exclusion: %+v", c.name, v)
		}
		got := ""
		if all := Inherent(h, v); len(all) > 0 {
			got = all[0].Name
		}
		if got != c.want {
			t.Errorf("%s: it is excused by the lack of %q, want %q: %v", c.name, got, c.want, v.Violations[0].Steps())
		}
		if blamed := r.Causes[0].Without == ""; blamed != (c.want == "") {
			t.Errorf("%s: the first cause is %+v", c.name, r.Causes[0])
		}
	}
}
