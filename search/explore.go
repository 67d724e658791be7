package search

import (
	"context"
	"fmt"
	"math"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/crew"
)

// ExploreOptions are the options of an exploration: a search through many short schedules made from a base.
type ExploreOptions struct {
	Base       scenario.Scenario // the schedules are made from it, with its seed
	First      int               // number of the first schedule
	Schedules  int               // number of schedules; 0: as many as the time limit allows
	TimeLimit  time.Duration     // real time; 0: no limit. Schedules or TimeLimit must be given
	Workers    int               // 0: one for each processor
	Properties []string          // levels or names of the properties that count; empty: L2
	Collect    bool              // find all distinct violations, instead of ending when each of Properties is violated

	Run Runner // runs a schedule; nil: the simulator

	Wording checker.Wording // of advice; nil: names of flags

	Live Live // of schedules, or without their number of milliseconds; may be nil
}

// Explore simulates and judges the schedules. If ctx ends, it stops early and returns the results so far. An
// error is a *scenario.Problem of the options, or a *judge.HarnessError, which names the schedule.
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
	if len(e.Properties) == 0 {
		e.Properties = []string{checker.MutualExclusion.Level}
	}
	e.Base.Properties = e.Properties // some properties are judged only if they are named
	began := time.Now()
	search := &exploration{e: e, asked: requestsFor(e.Properties), pending: map[int]*trial{}, total: newExploreResult(&e)}
	engine := Engine[trial]{Crew: crew.Of(e.Workers), Limit: e.TimeLimit}
	if e.Live != nil {
		engine.Live = func(string, int, int) { search.show(began) }
	}
	err := engine.Run(ctx, &Series[trial]{
		Count: e.Schedules, Done: search.done,
		At: func(i int) string { return fmt.Sprintf("schedule %d of seed %d", e.First+i, e.Base.Seed) },
		Try: func(ctx context.Context, pool *campaign.Pool, i int) (*trial, error) {
			t, err := e.try(ctx, pool, e.First+i)
			if err != nil || ctx.Err() != nil && !t.whole() { // an interrupted schedule does not count
				return nil, err
			}
			return t, nil
		},
	})
	if err != nil {
		err = &judge.HarnessError{Err: err}
	}
	total := search.total
	total.Elapsed = time.Since(began)
	total.Interrupted = ctx.Err() != nil
	total.conclude(e)
	total.OutOfTime = !total.Interrupted && e.TimeLimit > 0 && total.Elapsed >= e.TimeLimit && total.Schedules != e.Schedules && !total.Settled
	return total, err
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
	e       ExploreOptions
	asked   []request      // with the lowest number of a schedule done so far that violates each
	folded  int            // all schedules before this one are included in total
	pending map[int]*trial // done schedules that wait for lower ones
	total   *ExploreResult
}

// done adds a schedule to the total, in the order of the numbers, so that the total does not depend on which
// schedule ended first. Once everything that was asked for is violated, only lower numbers matter.
func (s *exploration) done(i int, t *trial, _ time.Duration) (last int) {
	for j := range s.asked {
		if a := &s.asked[j]; (a.first < 0 || t.number < a.first) && a.violatedIn(t.result) {
			a.first = t.number
		}
	}
	last = math.MaxInt
	if needed := lastNeeded(s.asked); needed >= 0 && !s.e.Collect {
		last = needed - s.e.First
	}
	s.pending[i] = t
	for s.pending[s.folded] != nil && s.folded <= last {
		s.total.fold(s.pending[s.folded])
		delete(s.pending, s.folded)
		s.folded++
	}
	return last
}

// show shows the progress.
func (s *exploration) show(began time.Time) {
	elapsed := time.Since(began)
	done, most, what := s.folded, s.e.Schedules, fmt.Sprintf("%d schedules", s.folded)
	if most > 0 {
		what += fmt.Sprintf(" of %d", most)
	} else {
		done, most = int(elapsed.Milliseconds()), int(s.e.TimeLimit.Milliseconds())
	}
	s.e.Live(done, most, func() string {
		violations := 0
		for _, l := range s.total.Properties {
			violations += l.Violated
		}
		return fmt.Sprintf("%5.1fs: %s, %.0f a second, %d leases granted, %d violations, %d distinct",
			elapsed.Seconds(), what, float64(s.folded)/max(elapsed.Seconds(), time.Millisecond.Seconds()), s.total.Counts.Granted, violations, len(s.total.Found))
	})
}

// try runs and judges schedule i. It reuses the memory of an earlier schedule.
func (e *ExploreOptions) try(ctx context.Context, pool *campaign.Pool, i int) (*trial, error) {
	run, scenario := e.Run, Schedule(e.Base, i)
	scenario.Driver = run.Driver()
	h, r, err := run.Judged(ctx, pool, scenario, checker.PropertiesOf(e.Base.Properties)...)
	if err != nil {
		return nil, err
	}
	for i := range r.Verdicts {
		r.Verdicts[i] = r.Verdicts[i].Reword(e.Wording)
	}
	t := &trial{number: i, scenario: scenario, result: r, faults: history.Faults(h.Ops), coverage: Coverage{}}
	t.coverage.add(Strikes(h))
	if run != nil && t.whole() {
		t.history = h
	}
	return t, nil
}

// wording returns the words for advice.
func (e *ExploreOptions) wording() checker.Wording {
	if e.Wording == nil {
		return checker.FlagWording
	}
	return e.Wording
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

// On returns the runner that records runs on masters that a driver lends.
func On(d campaign.Driver) Runner {
	return func(ctx context.Context, s scenario.Scenario) (*history.History, error) {
		return campaign.Record(ctx, s, d, campaign.Options{})
	}
}

// Judged runs a scenario, in the simulator if run is nil, and judges it by some properties or by all. With a
// pool, the simulator's next run overwrites the history.
func (run Runner) Judged(ctx context.Context, pool *campaign.Pool, s scenario.Scenario, by ...checker.Property) (*history.History, *judge.Result, error) {
	if run == nil {
		run = On(campaign.Simulation{Pool: pool}.Driver())
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
