package exhaust

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/cluster/sim"
	"lockpick/history"
	"lockpick/workload"
)

// Options are the options of a search that tries every schedule within bounds.
type Options struct {
	Bounds    Bounds
	TimeLimit time.Duration // in real time; 0: none
	MaxStates int           // greatest number of states; 0: none; 1 million take about 0.3 GB
	Workers   int           // 0: one for each processor; the result does not depend on it

	Live func(Status) // called a few times a second; may be nil
}

// Status is the progress of a search.
type Status struct {
	States, Open int // number of states visited, and of choices there that remain to be tried
	Faults       int // in the schedules that are being tried now
	Tick         int // at which they differ from those before
	Elapsed      time.Duration
	Limit        time.Duration
}

// Result is the result of a search.
type Result struct {
	Bounds  Bounds
	Judged  checker.Property
	Verdict checker.Verdict // violated, holds, or unknown if the search was interrupted
	Why     string
	States  int   // number of different points with a decision
	Runs    int   // simulations
	Steps   int64 // events in them
	Elapsed time.Duration

	// The shortest counterexample: the one with the fewest faults, and of these the one with
	// the earliest violation.
	Faults    int
	At        time.Duration
	History   *history.History // of it; nil: there is none
	Violation *checker.Violation
}

// Run tries every schedule within the bounds, until there is no shorter counterexample than the
// one that was found, or ctx ends. The verdict is about the property that the bounds name.
// Errors that are not about the bounds are *HarnessError.
func Run(ctx context.Context, e Options) (*Result, error) {
	if err := e.Bounds.Check(); err != nil {
		return nil, err
	}
	s := &searcher{Options: e, began: time.Now(), visited: map[state]struct{}{}}
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	r := &Result{Bounds: e.Bounds, Judged: e.Bounds.judged()}
	cut, err := s.search(ctx)
	r.States, r.Runs, r.Steps, r.Elapsed = len(s.visited), s.runs, s.steps, time.Since(s.began)
	if err != nil {
		return r, &campaign.HarnessError{Err: err}
	}
	if s.failed != nil {
		return r, s.concludeFailed(r)
	}
	if s.best == nil {
		r.Verdict, r.Why = checker.Holds, fmt.Sprintf("it holds for all schedules within these bounds (%d states)", r.States)
		if cut != "" {
			r.Verdict, r.Why = checker.Unknown, fmt.Sprintf("%s: no violation in %d states, and not all were visited", cut, r.States)
		}
		return r, nil
	}
	r.Faults, r.At = s.best.faults, s.best.at
	if r.History, r.Violation, err = s.confirm(s.best); err != nil {
		return r, &campaign.HarnessError{Err: err}
	}
	r.Verdict, r.Why = checker.Violated, r.Violation.Summary
	if cut != "" {
		r.Why += fmt.Sprintf(" (%s: there may be a shorter counterexample)", cut)
	}
	return r, nil
}

// searcher is the state of a search.
//
// It cannot copy the state of a run, because coroutines cannot be copied: it identifies a point
// of a run by the choices that lead to it, and returns to it by making them again. It remembers
// the states of all points that it has visited, and continues from each of them only once.
type searcher struct {
	Options
	began   time.Time
	shown   time.Time
	visited map[state]struct{}
	open    frontier
	serial  int
	runs    int
	steps   int64
	best    *found
	failed  *failedCall // it ends the search

	outcomes map[string]bool // if not nil: of all runs that came to their end; violations do not end them
}

// pendingPath is a choice that remains to be made: another one at a point of a run.
type pendingPath struct {
	path    []uint8 // of the run that came to the point; shared
	depth   int     // of the point
	choice  uint8
	faults  uint8 // with the choice
	instant int64 // of the point
	serial  int
}

// frontier returns the choices with the fewest faults first, and of these the earliest. Time
// and faults never decrease along a run, so the first violation that is found is the shortest.
type frontier []pendingPath

func (f frontier) Len() int { return len(f) }
func (f frontier) Less(i, j int) bool {
	a, b := &f[i], &f[j]
	return cmp.Or(cmp.Compare(a.faults, b.faults), cmp.Compare(a.instant, b.instant), cmp.Compare(a.serial, b.serial)) < 0
}
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)   { *f = append(*f, x.(pendingPath)) }
func (f *frontier) Pop() any {
	old := *f
	x := old[len(old)-1]
	old[len(old)-1] = pendingPath{}
	*f = old[:len(old)-1]
	return x
}

// batch is how many runs are made concurrently. Their results are merged in their order, so
// that the result does not depend on the number of processors.
const batch = 64

// search makes all runs. It returns why it was interrupted, if it was.
func (s *searcher) search(ctx context.Context) (cut string, err error) {
	jobs := []pendingPath{{}}
	first := true
	for {
		if !first {
			jobs = s.next(jobs[:0])
		}
		if len(jobs) == 0 {
			return "", nil
		}
		done := s.make(jobs, first)
		first = false
		for i, x := range done {
			if x.err != nil {
				return "", fmt.Errorf("a run of the search: %w", x.err)
			}
			s.merge(&jobs[i], x)
			if s.failed = x.failed; s.failed != nil {
				return "", nil
			}
		}
		s.live(&jobs[0])
		switch {
		case ctx.Err() != nil:
			return "interrupted", nil
		case s.TimeLimit > 0 && time.Since(s.began) > s.TimeLimit:
			return fmt.Sprintf("the time limit of %v", s.TimeLimit), nil
		case s.MaxStates > 0 && len(s.visited) >= s.MaxStates:
			return fmt.Sprintf("the limit of %d states", s.MaxStates), nil
		}
	}
}

// next returns choices, without those that a counterexample has made unnecessary.
func (s *searcher) next(jobs []pendingPath) []pendingPath {
	for len(jobs) < batch && len(s.open) > 0 {
		t := s.open[0]
		if b := s.best; b != nil && s.outcomes == nil && (int(t.faults) > b.faults || int(t.faults) == b.faults && t.instant >= int64(b.at)) {
			return jobs
		}
		jobs = append(jobs, heap.Pop(&s.open).(pendingPath))
	}
	return jobs
}

// runResult is the result of a run.
type runResult struct {
	path    []uint8
	points  []point
	found   *found
	failed  *failedCall
	steps   int64
	err     error
	outcome string // "": it was stopped before its end
}

// make makes runs concurrently. They only read the visited states.
func (s *searcher) make(jobs []pendingPath, first bool) []runResult {
	done := make([]runResult, len(jobs))
	var wait sync.WaitGroup
	turn := make(chan int)
	var frozen atomic.Bool
	for range min(s.Workers, len(jobs)) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range turn {
				if frozen.Load() { // the search is over, and other runs may stand still as long
					continue
				}
				var path []uint8
				if !first {
					path = append(append(path, jobs[i].path[:jobs[i].depth]...), jobs[i].choice)
				}
				if done[i] = s.follow(path); done[i].failed != nil && done[i].failed.frozen {
					frozen.Store(true)
				}
			}
		}()
	}
	for i := range jobs {
		turn <- i
	}
	close(turn)
	wait.Wait()
	return done
}

func (s *searcher) follow(path []uint8) runResult {
	own := map[state]struct{}{}
	x := &execution{b: &s.Bounds, strikes: s.Bounds.strikes(), path: path, continueAfterViolation: s.outcomes != nil, known: func(p state) bool {
		if _, known := s.visited[p]; known {
			return true
		}
		_, known := own[p] // a run that comes to a point twice would go on for ever
		own[p] = struct{}{}
		return known
	}}
	err := x.toItsEnd()
	if f := x.failed.Load(); f != nil {
		f.path = path // beyond it, a run takes the first possibility
		return runResult{failed: f}
	}
	m := runResult{path: x.taken, points: x.points, found: x.found, steps: x.world.Steps(), err: err}
	if !x.stopped {
		m.outcome = strings.Join(x.outcome, ";")
	}
	return m
}

// merge adds the result of a run, up to the first state that another run of the same batch has
// visited.
func (s *searcher) merge(job *pendingPath, x runResult) {
	s.runs++
	if s.outcomes != nil && x.outcome != "" {
		s.outcomes[x.outcome] = true
	}
	s.steps += x.steps
	for _, p := range x.points {
		if _, known := s.visited[p.state]; known {
			return // the other run continues from there, and finds what this one found
		}
		s.visited[p.state] = struct{}{}
		for choice := uint8(1); choice < p.n; choice++ {
			s.serial++
			t := pendingPath{path: x.path, depth: p.depth, choice: choice, faults: p.faults, instant: p.instant, serial: s.serial}
			if p.costs {
				t.faults++
			}
			heap.Push(&s.open, t)
		}
	}
	if f := x.found; f != nil && (s.best == nil || f.faults < s.best.faults || f.faults == s.best.faults && f.at < s.best.at) {
		s.best = f
	}
}

func (s *searcher) live(job *pendingPath) {
	if s.Live == nil || time.Since(s.shown) < 200*time.Millisecond {
		return
	}
	s.shown = time.Now()
	s.Live(Status{
		States: len(s.visited), Open: len(s.open), Faults: int(job.faults), Tick: int(time.Duration(job.instant) / s.Bounds.Tick),
		Elapsed: time.Since(s.began), Limit: s.TimeLimit,
	})
}

// confirm repeats the run of a counterexample to its end, and lets the checker judge its
// history.
func (s *searcher) confirm(f *found) (*history.History, *checker.Violation, error) {
	b := &s.Bounds
	x := s.recorded(f.path)
	if err := x.toItsEnd(); err != nil || x.failed.Load() != nil {
		return nil, nil, fmt.Errorf("the counterexample, run again: %w", errors.Join(err, errNotAgain))
	}
	x.record(history.Op{Process: history.Harness, Type: history.Info, F: history.FEnd})
	h := x.recorder.History()
	report := checker.Check(h)
	if err := report.Err(); err != nil {
		return h, nil, err
	}
	if r := report.Result(b.judged()); r != nil && len(r.Violations) > 0 && r.Violations[0].At == f.at {
		return h, &r.Violations[0], nil
	}
	return h, nil, errors.New("the search saw the lock held twice, and the checker does not: this is a bug of Lockpick")
}

var errNotAgain = errors.New("it did not go the same way")

// recorded is an execution along a path that records a history.
func (s *searcher) recorded(path []uint8) *execution {
	b := &s.Bounds
	kind, _ := workload.LockNamed(b.Lock)
	x := &execution{b: b, strikes: b.strikes(), path: path}
	x.recorder = history.NewMemory(history.Header{
		Name: "exhaust-" + b.Lock, Started: sim.Epoch, Driver: campaign.Sim, Lock: b.Lock, Masters: b.Masters, Quorum: kind.Quorum(b.Masters), Persistence: b.Persistence,
		Clients: b.Clients, Keys: 1, TTL: time.Duration(b.TTL) * b.Tick, Faults: b.nemesisFaults(), Nemesis: "exhaustive",
		Versions: map[string]string{"redis": sim.Version, "lockpick": campaign.Version()},
	}, x.time)
	return x
}

// concludeFailed makes the run of a failed call once more, to record it.
func (s *searcher) concludeFailed(r *Result) error {
	f := s.failed
	x := s.recorded(f.path)
	err := x.toItsEnd()
	again := x.failed.Load()
	if err != nil || again == nil || again.judged != f.judged {
		return &campaign.HarnessError{Err: fmt.Errorf("the failed call, run again: %w", errors.Join(err, errNotAgain))}
	}
	x.record(again.op)
	x.record(history.Op{Process: history.Harness, Type: history.Info, F: history.FEnd})
	x.recorder.Seal()
	r.History, r.Judged, r.At = x.recorder.History(), f.judged, f.at
	report := checker.Check(r.History)
	if err = report.Err(); err != nil {
		return &campaign.HarnessError{Err: err}
	}
	found := report.Result(f.judged)
	if found == nil || len(found.Violations) == 0 {
		return &campaign.HarnessError{Err: errors.New("the search saw a call fail, and the checker does not: this is a bug of Lockpick")}
	}
	r.Violation = &found.Violations[0]
	r.Verdict, r.Why = checker.Violated, r.Violation.Summary+": the search ended there"
	return nil
}

// nemesisFaults returns those of the faults that the nemesis has.
func (b *Bounds) nemesisFaults() []string {
	var all []string
	for _, f := range b.Faults {
		if f != faultLate && f != faultLost && b.MaxFaults > 0 {
			all = append(all, f)
		}
	}
	return all
}

// Keep stores the counterexample as a run: its history and its result.
func (x *Result) Keep(store campaign.Store) (dir string, r *campaign.Result, err error) {
	return store.Add(x.History, x.Bounds.Command())
}
