package audit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/search"
	"lockpick/workload"
)

// lostIn is a violation of mutual exclusion, with a takeover in its story or without.
func lostIn(summary string, takeover, stall bool) narrative.Violation {
	v := narrative.Violation{Property: checker.MutualExclusion.Name, Level: "L2", Summary: summary}
	for kind, is := range map[narrative.EventKind]bool{narrative.EventElected: takeover, narrative.EventStalled: stall} {
		if is {
			v.Events = append(v.Events, narrative.Event{Kind: kind})
		}
	}
	return v
}

// judged returns the trial of a run with these violations.
func judged(asynchronous bool, violations ...narrative.Violation) *trial {
	j := search.Judgement{Property: checker.MutualExclusion.Name, Verdict: checker.Violated, First: &violations[0]}
	h := &history.History{Header: history.Header{Service: "store", Asynchronous: asynchronous}}
	explain(&j, &checker.Result{Property: checker.MutualExclusion, Violations: violations}, h, nil)
	return &trial{results: []search.Judgement{j}, scenario: scenario.Defaults()}
}

// TestATakeoverHidesNoOtherViolation: what a takeover of asynchronous replicas lost is inherent, unless any run, or the same run,
// shows a violation without one.
func TestATakeoverHidesNoOtherViolation(t *testing.T) {
	takeover, own, stall := lostIn("in a takeover", true, false), lostIn("by the lock", false, false), lostIn("in a stall", false, true)
	situation := &Situation{Judges: []string{"L2"}}
	for _, c := range []struct {
		name   string
		trials []*trial
		want   Outcome
		why    string
		stop   bool // it decides the situation before all its runs
	}{
		{"a takeover", []*trial{judged(true, takeover)}, Inherent, "in a takeover", false},
		{"in a store that loses nothing", []*trial{judged(false, takeover)}, Broken, "in a takeover", true},
		{"another run", []*trial{judged(true, takeover), judged(true, own)}, Broken, "by the lock", true},
		{"the same run", []*trial{judged(true, takeover, own)}, Broken, "by the lock", true},
		{"beside a stall", []*trial{judged(true, stall, takeover)}, Inherent, "in a takeover", false},
		{"after it", []*trial{judged(true, own), judged(true, takeover)}, Broken, "by the lock", true},
	} {
		s := &series{of: situation, at: &Case{}, judges: []string{"L2"}, trials: c.trials, stop: 9, real: true}
		f, evidence := find(situation, []*series{s}, checker.MutualExclusion.Name, true)
		if f.Outcome != c.want || f.Why != c.why || evidence == nil {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, f.Outcome, f.Why, c.want, c.why)
		}
		if got := f.Without != ""; got != (c.want == Inherent) {
			t.Errorf("%s: without %q", c.name, f.Without)
		}
		s.decideWhereToStop()
		if stops := s.stop < 9; stops != c.stop {
			t.Errorf("%s: it ends after schedule %d", c.name, s.stop)
		}
		if one := c.trials[0]; len(c.trials) == 1 && one.breaks(situation) != (c.want == Broken) {
			t.Errorf("%s: breaks is %v", c.name, one.breaks(situation))
		}
	}
}

// TestAQueueMayWaitForDeadWaiters: an audit of a client whose lock, as it says, waits for waiters that are gone does not expect
// progress meanwhile, as of a lock of Lockpick that says so.
func TestAQueueMayWaitForDeadWaiters(t *testing.T) {
	for ms, want := range map[float64]bool{0: false, 5000: true} {
		if got := (&Options{}).described("mine", "", &workload.Hello{DeadWaiterMS: ms}).Queues; got != want {
			t.Errorf("it waits %v ms for a waiter that is gone: it has such a queue: %v", ms, got)
		}
	}
}

// TestWhatCanNeverRunNeedsNoBudget: the reason why a case is left out is one that --budget full would not change, and no flag
// that audits do not have.
func TestWhatCanNeverRunNeedsNoBudget(t *testing.T) {
	long := &Case{Scenario: base(), Real: Real{Full: true}}
	for _, c := range []struct {
		name    string
		subject Subject
		want    string
	}{
		{"it can run", Subject{Lock: "single"}, "it takes long on real masters: use --budget full"},
		{"no such TTL", Subject{Lock: "single", TTLs: &workload.Lifespan{MinMS: 60_000}}, "its TTLs are at least 1m0s, and the run's is 2s"},
	} {
		a := &audit{opt: Options{JobOptions: search.JobOptions{Driver: scenario.Process, Budget: search.Quick}}, subject: c.subject}
		if got := a.add(&Situation{}, long); got != c.want || strings.Contains(got, "--ttl") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	var misfit *workload.Misfit
	if err := (&workload.Lifespan{MinMS: 60_000}).Fits(2 * time.Second); !errors.As(err, &misfit) || misfit.Use != "1m0s or more" {
		t.Errorf("%v: use %+v", err, misfit)
	}
}
