package exhaust

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/cluster/sim"
	"lockpick/cluster/sim/world"
	"lockpick/history"
	"lockpick/search"
	"lockpick/workload"
)

// Options are the options of a search that tries every schedule within bounds.
type Options struct {
	Bounds    Bounds
	TimeLimit time.Duration // real time; 0: no limit
	MaxStates int           // greatest number of states; 0: no limit; 1 million take about 0.3 GB
	Workers   int           // 0: one for each processor; the result does not depend on it

	Live search.Live // of states, of which it is not known how many there are, or of the time limit; may be nil
}

// Result is the result of a search.
type Result struct {
	Bounds  Bounds
	Judged  checker.Property
	Verdict checker.Verdict // violated, holds, or unknown if the search was interrupted
	Why     string
	States  int   // number of distinct states with a choice
	Runs    int   // number of simulations
	Steps   int64 // number of events in the simulations
	Elapsed time.Duration

	// The shortest counterexample: the one with the fewest faults and, of these, with the earliest violation.
	Faults    int
	At        time.Duration
	History   *history.History // of the counterexample; nil: none was found
	Violation *narrative.Violation
}

// Found is a violation in a run.
type Found struct {
	At     time.Duration
	Faults int
	Path   []uint8
}

// shorter reports whether the violation has fewer faults than another one, or is earlier. Of two equally
// short ones, the one with the least path counts as shorter.
func (f *Found) shorter(than *Found) bool {
	if f == nil || than == nil {
		return f != nil
	}
	if f.Faults != than.Faults || f.At != than.At {
		return before(f.Faults, f.At, than.Faults, than.At)
	}
	return bytes.Compare(f.Path, than.Path) < 0
}

// FailedCall describes the run in which a call of the lock failed. All choices shorter than Faults and At had
// been tried before.
type FailedCall struct {
	Property string // name of the violated property
	Path     []uint8
	Faults   int
	At       time.Duration
}

// Run tries every schedule within the bounds, until no shorter counterexample than the best is possible, or
// ctx ends. The verdict is about the property that the bounds name. Errors are a *scenario.Problem of the
// bounds or a *judge.HarnessError.
func Run(ctx context.Context, e Options) (*Result, error) {
	s, err := e.begin()
	if err != nil {
		return nil, err
	}
	cut, err := s.search(ctx)
	r := &Result{Bounds: e.Bounds, Judged: e.Bounds.judged(), Elapsed: time.Since(s.began), States: len(s.first), Runs: s.runs, Steps: s.steps}
	if err != nil {
		return r, &judge.HarnessError{Err: err}
	}
	return r, r.conclude(s, cut)
}

// begin checks the options and returns a new search.
func (e Options) begin() (*searcher, error) {
	if err := e.Bounds.Check(); err != nil {
		return nil, err
	}
	return newSearcher(e), nil
}

// conclude sets the verdict, and repeats the run of the counterexample to record it. cut says why the search ended
// early; "": it is complete.
func (r *Result) conclude(s *searcher, cut string) (err error) {
	b, found := &r.Bounds, s.best
	if f := s.failed; f != nil && (found == nil || !before(found.Faults, found.At, f.Faults, f.At)) {
		return r.concludeFailed(f)
	}
	if found == nil {
		r.Verdict, r.Why = checker.Holds, fmt.Sprintf("it holds for all schedules within these bounds (%d states)", r.States)
		if cut != "" {
			r.Verdict, r.Why = checker.Unknown, fmt.Sprintf("%s: no violation in %d states, and not all were visited", cut, r.States)
		}
		return nil
	}
	r.Faults, r.At = found.Faults, found.At
	if r.History, r.Violation, err = b.confirm(found); err != nil {
		return &judge.HarnessError{Err: err}
	}
	r.Verdict, r.Why = checker.Violated, r.Violation.Summary
	if cut != "" {
		r.Why += fmt.Sprintf(" (%s: there may be a shorter counterexample)", cut)
	}
	return nil
}

// confirm repeats the run of a counterexample to its end, and lets the checker judge its history.
func (b *Bounds) confirm(f *Found) (*history.History, *narrative.Violation, error) {
	x := b.recorded(f.Path)
	if err := x.toItsEnd(); err != nil || x.failed.Load() != nil {
		return nil, nil, fmt.Errorf("the counterexample, run again: %w", errors.Join(err, errNotAgain))
	}
	x.record(history.Op{Process: history.Harness, Type: history.Info, F: history.FEnd})
	h := x.recorder.History()
	report := checker.Check(h)
	if err := report.Err(); err != nil {
		return h, nil, err
	}
	if r := report.Result(b.judged()); r != nil && len(r.Violations) > 0 && r.Violations[0].At == f.At {
		return h, &r.Violations[0], nil
	}
	return h, nil, errors.New("the search saw the lock held twice, and the checker does not: this is a bug of Lockpick")
}

var errNotAgain = errors.New("it did not go the same way")

// recorded returns an execution that follows a path and records a history.
func (b *Bounds) recorded(path []uint8) *execution {
	kind, _ := workload.LockNamed(b.Lock)
	x := &execution{b: b, strikes: b.strikes(), path: path}
	x.recorder = history.NewMemory(history.Header{
		Name: "exhaust-" + b.Lock, Started: world.Epoch, Driver: scenario.Sim, Lock: b.Lock, Masters: b.Masters, Quorum: kind.Quorum(b.Masters), Persistence: b.Persistence,
		Clients: b.Clients, Keys: 1, TTL: time.Duration(b.TTL) * b.Tick, Faults: b.nemesisFaults(), Nemesis: "exhaustive",
		Versions: map[string]string{"redis": sim.Version, "lockpick": campaign.Version()},
	}, x.time)
	return x
}

// concludeFailed repeats the run of a failed call to record it.
func (r *Result) concludeFailed(f *FailedCall) error {
	x := r.Bounds.recorded(f.Path)
	err := x.toItsEnd()
	again := x.failed.Load()
	if err != nil || again == nil || again.judged.Name != f.Property {
		return &judge.HarnessError{Err: fmt.Errorf("the failed call, run again: %w", errors.Join(err, errNotAgain))}
	}
	x.record(again.op)
	x.record(history.Op{Process: history.Harness, Type: history.Info, F: history.FEnd})
	x.recorder.Seal()
	r.History, r.Judged, r.At = x.recorder.History(), again.judged, again.at
	report := checker.Check(r.History)
	if err = report.Err(); err != nil {
		return &judge.HarnessError{Err: err}
	}
	found := report.Result(again.judged)
	if found == nil || len(found.Violations) == 0 {
		return &judge.HarnessError{Err: errors.New("the search saw a call fail, and the checker does not: this is a bug of Lockpick")}
	}
	r.Violation = &found.Violations[0]
	r.Verdict, r.Why = checker.Violated, r.Violation.Summary+": the search ended there"
	return nil
}

// nemesisFaults returns the faults that the nemesis injects: all but those of single messages.
func (b *Bounds) nemesisFaults() []string {
	var all []string
	for _, f := range b.Faults {
		if f != faultLate && f != faultLost && b.MaxFaults > 0 {
			all = append(all, f)
		}
	}
	return all
}

// Keep stores the counterexample's history and result as a run.
func (x *Result) Keep(store campaign.Store) (dir string, r *judge.Result, err error) {
	return store.Add(x.History, x.Bounds.Command())
}
