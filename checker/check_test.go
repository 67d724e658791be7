package checker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/history"
)

// broken makes a history in which n clients are granted one key at once.
func broken(n int) []history.Op {
	var ops []history.Op
	for i := range n {
		ops = append(ops, history.Op{
			Index: i, Time: time.Duration(i) * time.Millisecond, Process: fmt.Sprintf("c%d", i), Type: history.OK, F: history.FAcquire,
			Key: "k0", Value: &history.Value{Token: fmt.Sprintf("t%d", i), ValidUntil: time.Hour},
		})
	}
	return ops
}

func TestResultCarriesTheFirstViolationsAndCountsAll(t *testing.T) {
	rep := Check(&history.History{Ops: broken(MaxViolations + 30)})
	r := rep.Result(MutualExclusion)
	if r.Count != MaxViolations+29 || len(r.Violations) != MaxViolations || r.Violations[0].At != time.Millisecond || r.Key != "k0" {
		t.Errorf("count %d, %d violations, the first %+v", r.Count, len(r.Violations), r.Violations[0])
	}
}

func TestResultsComeInTheOrderOfProperties(t *testing.T) {
	h, err := parse(history.Header{Fencing: true, TTL: time.Second}, `
		0ms  c1 acquire ok k0 t1 until=1s fence=1
		1ms  c1 enter k0 t1
		2ms  resource apply ok k0 t1
		2ms  resource apply ok k0 t1 fenced
		3ms  c1 extend ok k0 t1 until=2s
		3ms  m1 look keys=k0:t1@1s
		4ms  c1 leave k0 t1`)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, r := range Check(h).Results {
		got = append(got, slices.Index(Properties, r.Property))
	}
	if !slices.IsSorted(got) || got[0] != 0 || len(got) < 10 {
		t.Errorf("got the properties %v", got)
	}
	if rep := Check(&history.History{}); rep.Result(FencedWrites) != nil {
		t.Error("fenced writes were judged in a history without any")
	}
}

func TestDisagreementIsAnErrorAndNoVerdict(t *testing.T) {
	for name, second := range map[string]linearizability{
		"only porcupine": {illegal: map[string]bool{"k0": true, "k1": true}},
		"only the sweep": {},
	} {
		h := &history.History{Ops: broken(2)}
		rep := check(h, func(*history.Packed) linearizability { return second })
		if rep.Err() == nil || !strings.Contains(rep.Disagreement, name+" finds a violation") || rep.Result(MutualExclusion).Verdict != Unknown {
			t.Errorf("%s: err %v, verdict %s", name, rep.Err(), rep.Result(MutualExclusion).Verdict)
		}
	}
}

func TestViolationConfirmedByPorcupineStandsAfterItsTimeout(t *testing.T) {
	second := linearizability{illegal: map[string]bool{"k0": true}, undecided: true}
	rep := check(&history.History{Ops: broken(2)}, func(*history.Packed) linearizability { return second })
	if r := rep.Result(MutualExclusion); r.Verdict != Violated || rep.Err() != nil {
		t.Errorf("verdict %s: %s", r.Verdict, r.Why)
	}
}

func TestPorcupineThatHasNoTimeDecidesNothing(t *testing.T) {
	if v := linearizable(history.Pack(&history.History{Ops: broken(2)}), 0); !v.undecided || len(v.illegal) > 0 {
		t.Errorf("%+v", v)
	}
}

// Readers that wait for a writer are many subsets of readers that might have come before it.
func TestPorcupineDecidesAboutManyReadersThatWait(t *testing.T) {
	var ops []history.Op
	add := func(at int, client int, f string, typ history.Type, mode string, round int) {
		v := &history.Value{Mode: mode}
		if f == history.FRelease || typ == history.OK {
			v.Token, v.ValidUntil = fmt.Sprintf("t%d-%d", client, round), time.Hour
		}
		ops = append(ops, history.Op{Index: len(ops), Time: time.Duration(at) * time.Millisecond, Process: fmt.Sprintf("c%d", client), Type: typ, F: f, Key: "k0", Value: v})
	}
	const readers = 24
	for round := range 5 {
		at := 10 * round
		for c := range readers {
			add(at, c+1, history.FAcquire, history.Invoke, history.ModeRead, round)
		}
		add(at, 0, history.FAcquire, history.Invoke, history.ModeWrite, round)
		add(at+1, 0, history.FAcquire, history.OK, history.ModeWrite, round)
		add(at+2, 0, history.FRelease, history.Invoke, history.ModeWrite, round)
		add(at+3, 0, history.FRelease, history.OK, history.ModeWrite, round)
		for c := range readers {
			add(at+4, c+1, history.FAcquire, history.OK, history.ModeRead, round)
		}
		for c := range readers {
			add(at+5, c+1, history.FRelease, history.Invoke, history.ModeRead, round)
			add(at+6, c+1, history.FRelease, history.OK, history.ModeRead, round)
		}
	}
	h := &history.History{Header: history.Header{Kind: history.ReadWrite}, Ops: ops}
	if v := linearizable(history.Pack(h), 20*time.Second); v.undecided || len(v.illegal) > 0 {
		t.Errorf("%+v", v)
	}
}

// A history is cut into epochs only where the key is free, and operations that
// ran concurrently stay in one epoch.
func TestEpochsAreCutWhereTheLockIsFree(t *testing.T) {
	ops := record(20_000, false)
	k := tenures(history.Pack(&history.History{Ops: ops}))[0]
	parts := epochs(&history.Header{}, k.tenures, 100)
	if len(parts) < 50 {
		t.Errorf("%d operations were cut into %d epochs only", len(ops), len(parts))
	}
	total, free := 0, int64(0)
	for _, part := range parts {
		total += len(part.ops)
		last := int64(0)
		for _, o := range part.ops {
			if o.Call < free || o.Return < o.Call {
				t.Fatalf("operation [%d, %d] in an epoch that begins at %d", o.Call, o.Return, free)
			}
			last = max(last, o.Return)
		}
		free = last
	}
	if total != 2*len(k.tenures) {
		t.Errorf("%d of %d operations are in the epochs", total, 2*len(k.tenures))
	}
	held := epochs(&history.Header{}, tenures(history.Pack(&history.History{Ops: broken(1000)}))[0].tenures, 100)
	if len(held) != 1 {
		t.Errorf("a lock that is never free was cut into %d epochs", len(held))
	}
}

func TestWatchMayBeReadWhileItObserves(t *testing.T) {
	var w Watch
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for seen := 0; ; {
			select {
			case <-stop:
				return
			default:
			}
			n := w.Violations()
			if n < seen {
				t.Errorf("%d violations became %d", seen, n)
			}
			seen = n
			w.First()
		}
	})
	for _, op := range broken(1000) {
		w.Observe(op)
	}
	close(stop)
	wg.Wait()
	if first, any := w.First(); w.Violations() != 999 || !any || first != time.Millisecond {
		t.Errorf("%d violations, the first at %s", w.Violations(), first)
	}
}

// check judges a history with another second decider of mutual exclusion.
func check(h *history.History, second func(*history.Packed) linearizability, by ...Property) Report {
	return checkPacked(history.Pack(h), second, by...)
}
