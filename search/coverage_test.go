package search

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockpick/history"
)

// TestCoverage: in which step of the protocol the clients were that a fault struck.
func TestCoverage(t *testing.T) {
	// c1 asks for the lock at 1 s, two masters answer at 1.1 and 1.3 s, it is refused and waits
	// until 2 s, is granted it at 2.2 s, extends from 3 to 3.5 s and releases from 4 to 4.2 s.
	ms := time.Millisecond
	vote := func(at, took time.Duration, command string) history.Op {
		return history.Op{Time: at, Process: "m1", Type: history.OK, F: history.FVote, Key: "k0", Value: &history.Value{Client: "c1", Command: command, Took: took}}
	}
	op := func(at time.Duration, typ history.Type, f string) history.Op {
		return history.Op{Time: at, Process: "c1", Type: typ, F: f, Key: "k0", Value: &history.Value{Token: "t"}}
	}
	ops := []history.Op{
		vote(900*ms, 400*ms, history.CommandRelease),
		op(1000*ms, history.Invoke, history.FAcquire),
		vote(1050*ms, 500*ms, history.CommandRelease), // of before: it does not reach back beyond the acquire
		vote(1100*ms, 100*ms, history.CommandSet), vote(1300*ms, 290*ms, history.CommandSet),
		vote(2200*ms, 200*ms, history.CommandSet),
		op(2200*ms, history.OK, history.FAcquire),
		vote(2300*ms, 300*ms, history.CommandSet), // late
		op(3000*ms, history.Invoke, history.FExtend), op(3500*ms, history.OK, history.FExtend),
		op(4000*ms, history.Invoke, history.FRelease), op(4200*ms, history.OK, history.FRelease),
	}
	for at, want := range map[time.Duration]string{
		0: Idle, 999 * ms: Idle, 1000 * ms: Acquiring, 1299 * ms: Acquiring, 1300 * ms: Waiting, 1999 * ms: Waiting,
		2000 * ms: Acquiring, 2200 * ms: Holding, 2999 * ms: Holding, 3000 * ms: Extending, 3500 * ms: Holding,
		4000 * ms: Releasing, 4199 * ms: Releasing, 4200 * ms: Idle, time.Hour: Idle,
	} {
		if got := stepAt(phasesOf(ops)["c1"], at); got != want {
			t.Errorf("at %v: %s, want %s", at, got, want)
		}
	}
	fault := func(id int, kind string, at time.Duration, clients ...string) history.Op {
		return history.Op{Time: at, Process: history.Nemesis, Type: history.OK, F: kind, Value: &history.Value{ID: id, Phase: history.PhaseInstall, Masters: []string{"m1"}, Clients: clients}}
	}
	got := Coverage{}
	got.add(Strikes(&history.History{Header: history.Header{Clients: 2}, Ops: append(ops,
		fault(1, "kill", 3200*ms), fault(2, "kill", 1500*ms), fault(3, "partition", 2500*ms, "c1"), fault(4, "partition", 2500*ms, "c2"))}))
	want := Coverage{"kill": {Extending: 1, Waiting: 1, Idle: 2}, "partition": {Holding: 1, Idle: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
