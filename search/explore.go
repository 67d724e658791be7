package search

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
)

// ExploreOptions are the options of an exploration: a search through many short schedules made from a base.
type ExploreOptions struct {
	Base       scenario.Scenario // the schedules are made from it, with its seed
	Schedules  int               // number of schedules; 0: as many as the time limit allows
	TimeLimit  time.Duration     // real time; 0: no limit. Schedules or TimeLimit must be given
	Workers    int               // 0: one for each processor
	Properties []string          // levels or names of the properties that count; empty: L2
	Collect    bool              // find all distinct violations, instead of ending when each of Properties is violated
	Shard      Shard             // the part of the schedules to try; zero: all. A shard implies Collect
	Resume     *Share            // an earlier result of the shard, to continue from; nil: none

	Run Runner // runs a schedule; nil: the simulator

	Live func(ExploreStatus) // called a few times a second; may be nil
}

// ExploreStatus is the progress of an exploration.
type ExploreStatus struct {
	Schedules, Of int // Of is 0 if only the time limit ends the exploration
	Elapsed       time.Duration
	Limit         time.Duration
	Granted       int
	Violations    int
	Distinct      int
}

// Explore simulates and judges the schedules. If ctx ends, it stops early and returns the results so far. An
// error is a *scenario.Problem of the options, a *judge.HarnessError, which names the schedule, or one that
// wraps ErrParts, because Resume is of another exploration.
func Explore(ctx context.Context, e ExploreOptions) (*ExploreResult, error) {
	if err := e.Base.Check(); err != nil {
		return nil, err
	}
	if err := e.Base.CheckSimulated(); err != nil {
		return nil, err
	}
	if e.Schedules <= 0 && e.TimeLimit <= 0 {
		return nil, &scenario.Problem{Field: "schedules", Says: "say how many, or give a time limit"}
	}
	if e.Workers <= 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	if len(e.Properties) == 0 {
		e.Properties = []string{checker.MutualExclusion.Level}
	}
	e.Base.Properties = e.Properties // some properties are judged only if they are named
	if !e.Shard.Whole() {
		e.Collect = true // otherwise the shards together would not be the whole
	}
	began := time.Now()
	search := &exploration{e: e, outer: ctx, asked: requestsFor(e.Properties), pending: map[int]*trial{}, total: newExploreResult(&e)}
	if e.Schedules > 0 {
		search.of = e.Shard.schedules(e.Schedules)
	}
	if e.Resume != nil {
		if err := search.total.add(e.Resume); err != nil {
			return nil, err
		}
		search.next, search.folded = e.Resume.Done, e.Resume.Done
	}
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
	total.OutOfTime = !total.Interrupted && running.Err() != nil && total.Schedules != search.of && !total.Settled
	return total, search.err
}

// trial is one schedule with its result.
type trial struct {
	number   int
	scenario scenario.Scenario
	result   *judge.Result
	faults   []*history.Fault
	coverage Coverage
	history  *history.History // nil: the simulator can repeat it
}

// exploration is a running exploration.
type exploration struct {
	e     ExploreOptions
	outer context.Context

	of int // number of schedules to try; 0: no limit. next, folded and pending count the shard's schedules, from 0

	mu      sync.Mutex
	next    int            // the next schedule to hand out
	asked   []request      // with the lowest number of a schedule done so far that violates each
	folded  int            // all lower schedules are included in total
	pending map[int]*trial // done schedules that wait for lower ones
	total   *ExploreResult
	err     error
}

// work tries one schedule after the other.
func (s *exploration) work(ctx context.Context) {
	pool := campaign.NewPool()
	defer pool.Close()
	for {
		i, scenario, ok := s.take(ctx)
		if !ok {
			return
		}
		t, err := s.e.try(s.outer, pool, s.e.Shard.number(i), scenario)
		if s.outer.Err() != nil && t != nil && !t.whole() {
			return // an interrupted schedule does not count
		}
		s.done(i, t, err)
	}
}

// take returns the next number, and its schedule. Once everything that was asked for is violated, only lower
// numbers matter, and those have all been handed out.
func (s *exploration) take(ctx context.Context) (int, scenario.Scenario, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil || s.err != nil || s.e.Schedules > 0 && s.next >= s.of || lastNeeded(s.asked) >= 0 && !s.e.Collect {
		return 0, scenario.Scenario{}, false
	}
	i := s.next
	s.next++
	return i, Schedule(s.e.Base, s.e.Shard.number(i)), true
}

// done adds a schedule to the total, in the order of the numbers, so that the total does not depend on which
// schedule ended first.
func (s *exploration) done(i int, t *trial, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.err = errors.Join(s.err, err)
		return
	}
	for j := range s.asked {
		if a := &s.asked[j]; (a.first < 0 || t.number < a.first) && a.violatedIn(t.result) {
			a.first = t.number
		}
	}
	s.pending[i] = t
	for s.pending[s.folded] != nil {
		if last := lastNeeded(s.asked); last >= 0 && last < s.folded && !s.e.Collect {
			break
		}
		s.total.fold(s.pending[s.folded])
		delete(s.pending, s.folded)
		s.folded++
	}
}

func (s *exploration) show(end <-chan struct{}, began time.Time) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		now := ExploreStatus{
			Schedules: s.folded, Of: s.of, Elapsed: time.Since(began), Limit: s.e.TimeLimit,
			Granted: s.total.Counts.Granted, Distinct: len(s.total.Found),
		}
		for _, l := range s.total.Properties {
			now.Violations += l.Violated
		}
		s.mu.Unlock()
		s.e.Live(now)
	}
}

// try runs and judges schedule i. It reuses the memory of the worker's previous schedule.
func (e *ExploreOptions) try(ctx context.Context, pool *campaign.Pool, i int, scenario scenario.Scenario) (*trial, error) {
	run := e.Run
	scenario.Driver = run.Driver()
	h, r, err := run.Judged(ctx, pool, scenario, checker.PropertiesOf(e.Base.Properties)...)
	if err != nil {
		return nil, &judge.HarnessError{Err: fmt.Errorf("schedule %d of seed %d: %w", i, e.Base.Seed, err)}
	}
	t := &trial{number: i, scenario: scenario, result: r, faults: history.Faults(h.Ops), coverage: Coverage{}}
	t.coverage.add(Strikes(h))
	if run != nil && t.whole() {
		t.history = h
	}
	return t, nil
}

// Runner runs a complete scenario and returns its history. It may be called from several
// goroutines at once.
type Runner func(ctx context.Context, s scenario.Scenario) (*history.History, error)

// Driver returns the driver that the scenarios of run must have: virtual, or sim if run is nil.
func (run Runner) Driver() string {
	if run == nil {
		return scenario.Sim
	}
	return scenario.Virtual
}

// SimulateAndJudge runs a scenario in the simulator and judges it, by some properties or by all.
func SimulateAndJudge(ctx context.Context, s scenario.Scenario, by ...checker.Property) (*history.History, *judge.Result, error) {
	return Runner(nil).Judged(ctx, nil, s, by...)
}

// Judged runs a scenario, in the simulator if run is nil, and judges it by some properties or by all. With a
// pool, the simulator's next run overwrites the history.
func (run Runner) Judged(ctx context.Context, pool *campaign.Pool, s scenario.Scenario, by ...checker.Property) (*history.History, *judge.Result, error) {
	if run == nil {
		run = func(ctx context.Context, s scenario.Scenario) (*history.History, error) {
			return campaign.Simulate(ctx, s, campaign.SimulateOptions{Pool: pool})
		}
	}
	h, err := run(ctx, s.WithRequirements())
	if err != nil {
		return nil, nil, err
	}
	r, err := judge.History(h, by...)
	return h, r, err
}

// whole reports whether the schedule ran to its end.
func (t *trial) whole() bool { return t.result.CutShort == "" }
