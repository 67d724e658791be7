package exhaust

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lockpick/internal/crew"
)

// searcher is the state of a search.
//
// It cannot copy the state of a run, because coroutines cannot be copied. Instead it identifies a point of a
// run by the choices that lead to it, and returns to it by making them again. It stores the states of all
// points that it has visited, and continues from each of them only once.
type searcher struct {
	Options
	graph
	began  time.Time
	open   frontier
	serial int
	runs   int
	steps  int64
	best   *Found      // the shortest so far; of several, the one with the least path
	failed *FailedCall // set if it ended the search

	outcomes map[string]bool // if not nil: collects the outcomes of complete runs, which violations do not end
}

// pendingPath is a choice yet to try: another possibility at a point of a run.
type pendingPath struct {
	path    []uint8 // of the run that reached the point; shared
	depth   int     // of the point; rootDepth: the first run, without a choice
	choice  uint8
	faults  uint8 // number of faults, including the choice
	instant int64 // of the point
	serial  int
	slot    uint32 // of the choice
}

// rootDepth marks the first run, which follows no path.
const rootDepth = -1

// choices returns the path up to and including the choice.
func (p *pendingPath) choices() []uint8 {
	if p.depth == rootDepth {
		return nil
	}
	return append(slices.Clone(p.path[:p.depth]), p.choice)
}

// compare orders choices by their faults, then by time, then by age.
func (p *pendingPath) compare(q *pendingPath) int {
	return cmp.Or(cmp.Compare(p.faults, q.faults), cmp.Compare(p.instant, q.instant), cmp.Compare(p.serial, q.serial))
}

// frontier is a heap of choices: those with the fewest faults first, and of these the earliest. Time and
// faults never decrease along a run, so the first violation found is the shortest.
type frontier []pendingPath

func (f frontier) Len() int           { return len(f) }
func (f frontier) Less(i, j int) bool { return f[i].compare(&f[j]) < 0 }
func (f frontier) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)        { *f = append(*f, x.(pendingPath)) }
func (f *frontier) Pop() any {
	old := *f
	x := old[len(old)-1]
	old[len(old)-1] = pendingPath{}
	*f = old[:len(old)-1]
	return x
}

// batch is the number of concurrent runs. Their results are merged in a fixed order, so that the result does
// not depend on the number of processors.
const batch = 64

// newSearcher returns a search that has made no runs.
func newSearcher(e Options) *searcher {
	return &searcher{Options: e, began: time.Now(), graph: newGraph(), open: frontier{{depth: rootDepth}}}
}

// search makes all runs. It returns the reason if it ended early.
func (s *searcher) search(ctx context.Context) (cut string, err error) {
	var jobs []pendingPath
	for {
		if jobs = s.next(jobs[:0]); len(jobs) == 0 {
			return "", nil
		}
		for i, x := range s.make(jobs) {
			if x.err != nil {
				return "", fmt.Errorf("a run of the search: %w", x.err)
			}
			s.merge(&jobs[i], x)
			if x.failed != nil {
				s.failed = &FailedCall{x.failed.judged.Name, x.failed.path, int(jobs[0].faults), time.Duration(jobs[0].instant)}
				return "", nil
			}
		}
		s.live(&jobs[0])
		switch {
		case ctx.Err() != nil:
			return "interrupted", nil
		case s.TimeLimit > 0 && time.Since(s.began) > s.TimeLimit:
			return fmt.Sprintf("the time limit of %v", s.TimeLimit), nil
		case s.MaxStates > 0 && len(s.first) >= s.MaxStates:
			return fmt.Sprintf("the limit of %d states", s.MaxStates), nil
		}
	}
}

// next takes the next choices from the frontier, without those that a counterexample has made unnecessary.
func (s *searcher) next(jobs []pendingPath) []pendingPath {
	for len(jobs) < batch && len(s.open) > 0 {
		t := &s.open[0]
		if b := s.best; b != nil && s.outcomes == nil && before(b.Faults, b.At, int(t.faults), time.Duration(t.instant)) {
			return jobs
		}
		jobs = append(jobs, heap.Pop(&s.open).(pendingPath))
	}
	return jobs
}

// before reports whether a schedule is shorter than another one: it has fewer faults or, with as many, an
// earlier time.
func before(faults int, at time.Duration, thanFaults int, thanAt time.Duration) bool {
	return cmp.Or(cmp.Compare(faults, thanFaults), cmp.Compare(at, thanAt)) < 0
}

// runResult is the result of a run.
type runResult struct {
	path    []uint8
	points  []point
	known   state // the visited state at which the run was stopped
	found   *Found
	failed  *failedCall
	steps   int64
	err     error
	outcome string // "": the run was stopped before its end
}

// make makes runs concurrently. They only read the visited states.
func (s *searcher) make(jobs []pendingPath) []runResult {
	done := make([]runResult, len(jobs))
	var frozen atomic.Bool
	each := func(yield func(int) bool) {
		for i := range jobs {
			yield(i)
		}
	}
	crew.Each(crew.Of(s.Workers), each, func(i int) {
		if frozen.Load() { // the search is over, and other runs may hang as long
			return
		}
		if done[i] = s.follow(jobs[i].choices()); done[i].failed != nil && done[i].failed.frozen {
			frozen.Store(true)
		}
	})
	return done
}

func (s *searcher) follow(path []uint8) runResult {
	own := map[state]struct{}{}
	var stop state
	x := &execution{b: &s.Bounds, strikes: s.Bounds.strikes(), path: path, continueAfterViolation: s.outcomes != nil, known: func(p state) bool {
		_, known := s.index[p]
		if !known {
			_, known = own[p] // a run that reaches a state twice would never end
			own[p] = struct{}{}
		}
		if known {
			stop = p
		}
		return known
	}}
	err := x.toItsEnd()
	if f := x.failed.Load(); f != nil {
		f.path = path // afterwards the run takes the first possibilities
		return runResult{failed: f}
	}
	m := runResult{path: x.taken, points: x.points, known: stop, found: x.found, steps: x.world.Steps(), err: err}
	if !x.stopped {
		m.outcome = strings.Join(x.outcome, ";")
	}
	return m
}

// merge adds the result of a run, up to the first state that an earlier run of the batch has visited.
func (s *searcher) merge(job *pendingPath, x runResult) {
	s.runs++
	if s.outcomes != nil && x.outcome != "" {
		s.outcomes[x.outcome] = true
	}
	s.steps += x.steps
	slot := job.slot
	for _, p := range x.points {
		_, known := s.index[p.state]
		if !known {
			first := s.add(p.state, p.n)
			s.later(x.path, p, first)
			s.leads(slot, p.state)
			slot = first
			continue
		}
		s.leads(slot, p.state) // the earlier run continues from there, and finds the same
		return
	}
	f := x.found
	if f == nil {
		s.leads(slot, x.known)
		return
	}
	s.targets[slot] = toViolation
	if f.shorter(s.best) {
		s.best = f
	}
}

// later adds all choices at a new point to the frontier, except the run's own. slot is that of the first
// choice.
func (s *searcher) later(path []uint8, p point, slot uint32) {
	for choice := uint8(1); choice < p.n; choice++ {
		s.serial++
		t := pendingPath{path: path, depth: p.depth, choice: choice, faults: p.faults, instant: p.instant, serial: s.serial, slot: slot + uint32(choice)}
		if p.costs {
			t.faults++
		}
		heap.Push(&s.open, t)
	}
}

func (s *searcher) live(job *pendingPath) {
	if s.Live == nil {
		return
	}
	elapsed, states, open := time.Since(s.began), len(s.first), len(s.open)
	done, most := states, states+open // the number of open branches grows before it shrinks
	if s.TimeLimit > 0 {
		done, most = int(elapsed.Milliseconds()), int(s.TimeLimit.Milliseconds())
	}
	s.Live(done, most, func() string {
		return fmt.Sprintf("%5.1fs: %d states, %.0f a second, %d choices open; schedules with %d faults, at tick %d",
			elapsed.Seconds(), states, float64(states)/max(elapsed.Seconds(), time.Millisecond.Seconds()), open, job.faults, int(time.Duration(job.instant)/s.Bounds.Tick))
	})
}
