package campaign

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// Exploration is a search by simulation: many short schedules, drawn from a base.
type Exploration struct {
	Base       Scenario      // what the schedules are drawn from; its seed is the exploration's
	Schedules  int           // how many; 0: as many as the time limit allows
	TimeLimit  time.Duration // in real time; 0: none. One of the two must be given.
	Workers    int           // 0: one for each processor
	Properties []string      // levels or names of those that count; empty: L2
	Collect    bool          // do not end when each of Properties is violated: find distinct violations

	Live func(ExplorationStatus) // called a few times a second; may be nil
}

// ExplorationStatus is how an exploration is getting on.
type ExplorationStatus struct {
	Schedules, Of int // Of is 0 if only time limits it
	Elapsed       time.Duration
	Limit         time.Duration
	Granted       int
	Violations    int
	Distinct      int
}

// Explore searches. The end of ctx ends it early: what was found by then counts. An
// error is a *Problem of the base or a *HarnessError, which names the schedule.
func Explore(ctx context.Context, e Exploration) (*Explored, error) {
	if err := e.Base.Check(); err != nil {
		return nil, err
	}
	if e.Schedules <= 0 && e.TimeLimit <= 0 {
		return nil, &Problem{"schedules", "say how many, or give a time limit"}
	}
	if e.Workers <= 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	if len(e.Properties) == 0 {
		e.Properties = []string{checker.MutualExclusion.Level}
	}
	e.Base.Properties = e.Properties // some are judged only if they are asked for
	began := time.Now()
	search := &search{e: e, outer: ctx, asked: askedFor(e.Properties), pending: map[int]*tried{}, total: newExplored(&e)}
	running, stop := context.WithCancel(ctx)
	defer stop()
	if e.TimeLimit > 0 {
		running, stop = context.WithTimeout(running, e.TimeLimit)
		defer stop()
	}
	var workers sync.WaitGroup
	for range e.Workers {
		workers.Go(func() { search.work(running) })
	}
	shown := make(chan struct{})
	var showing sync.WaitGroup
	if e.Live != nil {
		showing.Go(func() { search.show(shown, began) })
	}
	workers.Wait()
	close(shown)
	showing.Wait()
	total := search.total
	total.Elapsed = time.Since(began)
	total.Interrupted = ctx.Err() != nil
	total.conclude(e)
	total.OutOfTime = !total.Interrupted && running.Err() != nil && total.Schedules != e.Schedules && !total.Settled
	return total, search.err
}

// tried is one schedule, with what came of it.
type tried struct {
	number   int
	scenario Scenario
	result   *Result
	faults   []*history.Fault
	coverage Coverage
}

// search is an exploration while it runs.
type search struct {
	e     Exploration
	outer context.Context

	mu      sync.Mutex
	next    int            // the number that is handed out next
	asked   []asked        // with the lowest numbers that violate each, of the schedules done so far
	folded  int            // all numbers below are in total
	pending map[int]*tried // that wait for lower ones
	total   *Explored
	err     error
}

// work tries one schedule after the other.
func (s *search) work(ctx context.Context) {
	for {
		i, ok := s.take(ctx)
		if !ok {
			return
		}
		t, err := try(s.outer, s.e.Base, i)
		if s.outer.Err() != nil && t != nil && !t.whole() {
			return // it was cut short: it counts for nothing
		}
		s.done(i, t, err)
	}
}

// take hands out the next number. Once everything that was asked for is violated only lower
// numbers matter, and those have all been handed out before.
func (s *search) take(ctx context.Context) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil || s.err != nil || s.e.Schedules > 0 && s.next >= s.e.Schedules || settled(s.asked) >= 0 && !s.e.Collect {
		return 0, false
	}
	s.next++
	return s.next - 1, true
}

// done folds a schedule into the total, in the order of the numbers, so that the total does
// not depend on who was faster.
func (s *search) done(i int, t *tried, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.err = errors.Join(s.err, err)
		return
	}
	for j := range s.asked {
		if a := &s.asked[j]; (a.first < 0 || i < a.first) && a.violatedIn(t.result) {
			a.first = i
		}
	}
	s.pending[i] = t
	for s.pending[s.folded] != nil {
		if last := settled(s.asked); last >= 0 && last < s.folded && !s.e.Collect {
			break
		}
		s.total.fold(s.pending[s.folded])
		delete(s.pending, s.folded)
		s.folded++
	}
}

func (s *search) show(end <-chan struct{}, began time.Time) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		now := ExplorationStatus{
			Schedules: s.folded, Of: s.e.Schedules, Elapsed: time.Since(began), Limit: s.e.TimeLimit,
			Granted: s.total.Counts.Granted, Distinct: len(s.total.Found),
		}
		for _, l := range s.total.Properties {
			now.Violations += l.Violated
		}
		s.mu.Unlock()
		s.e.Live(now)
	}
}

// try draws schedule i and simulates it.
func try(ctx context.Context, base Scenario, i int) (*tried, error) {
	s := draw(base, scheduleSeed(base.Seed, i))
	h, r, err := judged(ctx, s, propertiesOf(base.Properties)...)
	if err != nil {
		return nil, &HarnessError{fmt.Errorf("schedule %d of seed %d: %w", i, base.Seed, err)}
	}
	t := &tried{number: i, scenario: s, result: r, faults: history.Faults(h.Ops), coverage: Coverage{}}
	t.coverage.add(h)
	return t, nil
}

// judged runs a scenario in virtual time and judges it, by some properties or by all.
func judged(ctx context.Context, s Scenario, by ...checker.Property) (*history.History, *Result, error) {
	h, err := Simulate(ctx, s.Completed(), Simulation{})
	if err != nil {
		return nil, nil, err
	}
	r, err := Judge(h, by...)
	return h, r, err
}

// whole says whether the schedule came to its end.
func (t *tried) whole() bool { return t.result.CutShort == "" }
