package judge

import (
	"slices"
	"testing"
	"time"

	"lockpick/history"
)

// TestNotesNameWhatWasRefusedAndWhatSomebodyElseDid: by command and client, with how often and when it was first.
func TestNotesNameWhatWasRefusedAndWhatSomebodyElseDid(t *testing.T) {
	refused := func(at int, master, client, command string) history.Op {
		return history.Op{Time: time.Duration(at) * time.Second, Process: master, Type: history.Info, F: history.FRefused, Value: &history.Value{Client: client, Command: command}}
	}
	changed := func(at int, client, form string) history.Op {
		return history.Op{Time: time.Duration(at) * time.Second, Process: "m1", Type: history.Info, F: history.FChange, Key: "k", Value: &history.Value{Client: client, Form: form, Command: "deleted"}}
	}
	ops := []history.Op{
		refused(1, "m2", "c1", "FLUSHALL"), refused(2, "m1", "c2", ""), refused(3, "m1", "c1", "FLUSHALL"), refused(4, "m1", "c2", "FLUSHALL"), refused(5, "m1", "c1", ""),
		changed(1, "", ""), changed(2, "c1", "DEL"), changed(3, "", "FLUSHALL"), changed(4, "", "DEL"),
	}
	want := []string{
		"masters refused FLUSHALL on a link of c1 2 times, the first time on m2 at 1.0s: no lock sends it (with --admin, or admin: true in a scenario, they execute it)",
		"another user of this machine connected to a client's link and was refused 2 times, the first time on m1 at 2.0s",
		"masters refused FLUSHALL on a link of c2 once, on m1 at 4.0s: no lock sends it (with --admin, or admin: true in a scenario, they execute it)",
	}
	if got := refusals(ops); !slices.Equal(got, want) {
		t.Errorf("refused: %q", got)
	}
	want = []string{"somebody who is not a client of this run changed keys 2 times, the first time on m1 at 3.0s by FLUSHALL: what depends on it proves nothing about the lock"}
	if got := foreignChanges(ops); !slices.Equal(got, want) {
		t.Errorf("somebody else: %q", got)
	}
}

// TestNotesSayWhyMostAcquiresWereRefused: in the words of a client that is a program, if it was refused more often than not.
func TestNotesSayWhyMostAcquiresWereRefused(t *testing.T) {
	h := &history.History{Header: history.Header{Client: []string{"lock"}}}
	add := func(typ history.Type, says string) {
		h.Ops = append(h.Ops, history.Op{Process: "c1", Type: typ, F: history.FAcquire, Key: "k0", Error: says})
	}
	add(history.OK, "")
	add(history.Fail, "within_ms is not an integer")
	if got := mostRefused(history.Pack(h)); got != nil {
		t.Errorf("as many as were granted: %q", got)
	}
	add(history.Fail, "timeout")
	add(history.Fail, "within_ms is not an integer")
	want := []string{"3 acquires were refused and 1 granted; most often, 2 times, the client said: within_ms is not an integer"}
	if got := mostRefused(history.Pack(h)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	h.Header.Client = nil
	if got := mostRefused(history.Pack(h)); got != nil {
		t.Errorf("a lock of Lockpick's own: %q", got)
	}
}
