package reduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/internal/plural"
	"lockpick/search"
	"lockpick/workload"
)

// ShrinkOptions are the options of a search for the smallest scenario that violates the property that a given
// one violates.
type ShrinkOptions struct {
	Scenario   scenario.Scenario
	History    *history.History // of a run with the violation, real or simulated; nil: Scenario is simulated
	Properties []string         // levels or names; empty: L2 if that is violated, otherwise whatever is violated first
	TimeLimit  time.Duration    // real time; 0: 30 s
	Seeds      int              // number of seeds for each candidate; 0: 20
	OnlyFaults bool             // clients, masters and keys stay as they are

	Run search.Runner // runs a candidate; nil: the simulator

	Live search.Live // of the time limit, after each candidate that was kept and from time to time; may be nil
}

// Size measures how large a scenario is.
type Size struct {
	Faults  int // steps of the schedule
	Hit     int // masters and clients that the steps hit; a word, such as holders, counts as all
	Clients int
	Masters int
	Keys    int
	Time    time.Duration // time until the violation begins
}

// ShrinkResult is a counterexample: the smallest scenario found.
type ShrinkResult struct {
	Scenario  scenario.Scenario // with an explicit schedule, and a seed with which it violates the property
	History   *history.History  // of a run with that seed
	Result    *judge.Result
	Violation narrative.Violation
	Before    Size
	Size      Size
	Seeds     int    // number of seeds for each candidate in the end
	Rate      int    // number of Seeds with which Scenario violates the property
	Minimal   bool   // each fault is necessary: without any one of them no seed violates the property
	Rarely    bool   // not Minimal: without one of the faults the property is still violated, but more rarely
	Stopped   string // why the search ended before it knew whether each fault is necessary: time limit or interrupt
	Runs      int    // simulations
}

// ErrNotReproduced reports that no simulation reproduced the violation, so there is nothing to shrink.
var ErrNotReproduced = errors.New("not violated in the simulator")

// Shrink reduces a scenario by delta debugging (Zeller and Hildebrandt, "Simplifying and isolating
// failure-inducing input"). It removes faults, clients, masters and keys, then rounds times and turns them
// into triggers, as long as the property is still violated. Each removal shifts the random choices, so each
// candidate is tried with many seeds. If ctx ends, it returns the best scenario so far. It fails with
// ErrNotReproduced if no simulation violates the property, and with a *scenario.Problem if how.History has no
// violation.
func Shrink(ctx context.Context, how ShrinkOptions) (*ShrinkResult, error) {
	if err := how.Scenario.CheckSimulated(); err != nil {
		return nil, err
	}
	if how.TimeLimit <= 0 {
		how.TimeLimit = 30 * time.Second
	}
	if how.Seeds <= 0 {
		how.Seeds = 20
	}
	limited, end := context.WithTimeout(ctx, how.TimeLimit)
	defer end()
	k := &shrinker{how: how, ctx: limited, began: time.Now(), properties: how.Properties, base: how.Scenario}
	for i := range how.Seeds {
		k.seeds = append(k.seeds, search.ScheduleSeed(how.Scenario.Seed, i))
	}
	k.seeds[0] = how.Scenario.Seed
	if err := k.start(); err != nil {
		return nil, err
	}
	minimal := k.shrink()
	h, r, err := k.last(ctx)
	if err != nil {
		return nil, err
	}
	v, _ := r.FirstViolation(k.properties)
	if v == nil {
		return nil, &judge.HarnessError{Err: fmt.Errorf("the scenario that was shrunk to does not violate %v again with the same seed %d: this is a bug of Lockpick", k.properties, k.best.Seed)}
	}
	out := &ShrinkResult{
		Scenario: k.best, History: h, Result: r, Violation: *v, Before: k.before, Size: sizeOf(k.best),
		Seeds: len(k.seeds), Rate: k.rate, Minimal: minimal && !k.rarely, Rarely: minimal && k.rarely, Runs: k.runs,
	}
	out.Size.Time = v.At
	switch {
	case minimal:
	case ctx.Err() != nil:
		out.Stopped = "interrupted"
	default:
		out.Stopped = fmt.Sprintf("the time limit of %v", how.TimeLimit)
	}
	return out, nil
}

// last returns the history and the result to report. In the simulator they come from one more run of the best
// scenario, so that they do not depend on a run that is not kept. Otherwise they are those of the run that
// was found, because a Runner may give another history for the same seed.
func (k *shrinker) last(ctx context.Context) (*history.History, *judge.Result, error) {
	if k.how.Run == nil {
		return search.SimulateAndJudge(context.WithoutCancel(ctx), k.best)
	}
	r, err := judge.History(k.history)
	return k.history, r, err
}

// shrinker is the state of a Shrink.
type shrinker struct {
	how        ShrinkOptions
	ctx        context.Context
	began      time.Time
	seeds      []uint64
	properties []string
	base       scenario.Scenario // every candidate keeps its assumptions
	before     Size
	runs       int

	best    scenario.Scenario
	rate    int // number of the seeds with which best violates the property
	history *history.History
	found   *narrative.Violation // the violation in history
	rarely  bool                 // without one of its faults, best still violates the property, but more rarely
}

func sizeOf(s scenario.Scenario) Size {
	z := Size{Faults: len(s.Schedule), Clients: s.Clients, Masters: s.Masters, Keys: s.Keys}
	for _, step := range s.Schedule {
		z.Hit += countTargets(step, s)
	}
	return z
}

// countTargets returns how many masters and clients a step hits.
func countTargets(s scenario.Step, of scenario.Scenario) int {
	n := 0
	for _, name := range s.Masters {
		if isName(name) {
			n++
		} else {
			n += of.Masters
		}
	}
	for _, name := range s.Clients {
		if isName(name) {
			n++
		} else {
			n += of.Clients
		}
	}
	return n
}

// isName distinguishes m1 and c2 from words such as holders and any.
func isName(s string) bool { return len(s) > 1 && s[1] >= '0' && s[1] <= '9' }

// start finds the violation to preserve, and the first explicit schedule that leads to it.
func (k *shrinker) start() error {
	s := k.how.Scenario
	s.Driver, s.ClientsAs, s.StopOnViolation = k.how.Run.Driver(), scenario.Goroutines, false
	h := k.how.History
	var v *narrative.Violation
	var of string // name of the violated property
	if h != nil {
		r, err := judge.History(h)
		if err != nil {
			return err
		}
		if v, of = k.first(r); v == nil {
			return &scenario.Problem{Field: "run", Says: "nothing was violated in it: there is nothing to shrink"}
		}
	}
	if h == nil || h.Header.Driver == scenario.Sim {
		for _, seed := range k.seeds {
			if k.ctx.Err() != nil {
				break
			}
			s.Seed = seed
			again, r, err := k.how.Run.Judged(k.ctx, nil, s)
			if err != nil {
				return err
			}
			k.runs++
			if w, property := k.first(r); w != nil {
				h, v, of = again, w, property
				break
			}
		}
		if v == nil {
			return fmt.Errorf("%w: %s with %d seeds", ErrNotReproduced, s.Name, k.runs)
		}
	}
	explicit := s
	if len(s.Schedule) == 0 { // a nemesis drew the faults
		explicit.Schedule = search.ExplicitSchedule(h, s)
	}
	k.before = sizeOf(explicit)
	k.before.Time = v.At
	property := checker.PropertiesOf([]string{of})[0]
	k.properties, s.Properties, s.StopOnViolation = []string{of}, []string{property.ShortName()}, property.Watched
	if s.StopAfter > 0 { // when it would stop depends on each of the faults that may go, so it stops when it stopped
		s.StopAfter, s.TimeLimit = 0, workedFor(h, s.TimeLimit)
	}
	s.Faults, s.Targets, s.Interval, s.Nemesis = nil, nil, 0, scenario.Random
	var candidates []scenario.Scenario
	add := func(steps []scenario.Step) *scenario.Scenario {
		c := s
		c.Schedule = steps
		candidates = append(candidates, c)
		return &candidates[len(candidates)-1]
	}
	if explained := k.explainedFaults(s, h, v); explained != nil {
		candidates = append(candidates, *explained)
	}
	if len(s.Schedule) > 0 {
		add(s.Schedule)
	}
	add(search.ExplicitSchedule(h, s))
	slices.SortStableFunc(candidates, func(a, b scenario.Scenario) int { return cmp.Compare(len(a.Schedule), len(b.Schedule)) })
	least := 1
	if k.how.Run != nil { // choose the smallest that violates it often enough
		for _, c := range candidates {
			if c.Check() == nil {
				hits, _ := k.sample(c, 0)
				least = max(least, min((hits+1)/2, len(k.seeds)/20))
			}
		}
	}
	for ; least > 0; least /= 2 { // by chance, no candidate may reach that count again
		for _, c := range candidates {
			if c.Check() == nil && k.keep(c, least) {
				return nil
			}
		}
	}
	if k.ctx.Err() != nil {
		return fmt.Errorf("%w: the time was over before a schedule was found that does", ErrNotReproduced)
	}
	return fmt.Errorf("%w: neither the faults that explain the violation nor all %d faults of the run, at their times, make one with %d seeds", ErrNotReproduced, k.before.Faults, len(k.seeds))
}

// workedFor returns how long the clients of a run worked, in whole milliseconds: at most its time limit, at least a second.
func workedFor(h *history.History, limit time.Duration) time.Duration {
	for i := range h.Ops {
		if op := &h.Ops[i]; op.F == history.FHealed {
			return min(max(op.Time.Truncate(time.Millisecond)+time.Millisecond, time.Second), limit)
		}
	}
	return limit
}

// first returns the violation to preserve and its property: of the properties that were asked for, otherwise
// of mutual exclusion, otherwise of any.
func (k *shrinker) first(r *judge.Result) (*narrative.Violation, string) {
	if len(k.properties) == 0 {
		if v, property := r.FirstViolation([]string{checker.MutualExclusion.Name}); v != nil {
			return v, property
		}
	}
	return r.FirstViolation(k.properties)
}

// explainedFaults returns the scenario that the explanation of a violation describes: its clients, its key
// and its faults. Faults from before the first lease's grant begin with the run, later ones at their distance
// from that grant. It returns nil if the explanation names no lease.
func (k *shrinker) explainedFaults(s scenario.Scenario, h *history.History, v *narrative.Violation) *scenario.Scenario {
	if len(v.Clients) == 0 || len(v.Tokens) == 0 {
		return nil
	}
	granted := time.Duration(-1)
	for i := range h.Ops {
		if op := &h.Ops[i]; op.F == history.FAcquire && op.Type == history.OK && op.Process == v.Clients[0] && op.Value.Token == v.Tokens[0] {
			granted = op.Time
			break
		}
	}
	if granted < 0 {
		return nil
	}
	s.Schedule = nil
	s.TimeLimit = min(s.TimeLimit, max(time.Second, 4*s.TTL))
	for _, f := range history.Faults(h.Ops) {
		if !slices.Contains(v.Faults, f.ID) || !f.Installed {
			continue
		}
		step := search.StepOf(f, h, s)
		if f.Began <= granted {
			step.At = 0
			step.For = max(step.For, min(s.TimeLimit, granted+s.TTL))
		} else {
			step.At, step.After, step.Plus = 0, fmt.Sprintf("%s acquires %s", v.Clients[0], v.Key), f.Began-granted
		}
		s.Schedule = append(s.Schedule, step)
	}
	s = search.RestrictTo(s, distinct(v.Clients), workload.MasterNames(s.Masters), []string{v.Key})
	return &s
}

// distinct returns the names without duplicates, in their order.
func distinct(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// keep makes a candidate the best scenario if it violates the property with at least need seeds, and reports
// whether it did.
func (k *shrinker) keep(s scenario.Scenario, need int) bool {
	need = max(need, 1)
	hits, first := k.sample(s, need)
	if hits < need {
		return false
	}
	k.take(s, hits, first)
	return true
}

func (k *shrinker) take(s scenario.Scenario, hits int, x sampleRun) {
	k.best, k.rate = s, hits
	k.best.Seed = x.seed
	k.history, k.found = x.h, x.v
	k.reportStatus()
}

func (k *shrinker) reportStatus() {
	if k.how.Live != nil {
		elapsed := time.Since(k.began)
		k.how.Live(int(elapsed.Milliseconds()), int(k.how.TimeLimit.Milliseconds()), func() string {
			size := sizeOf(k.best)
			return fmt.Sprintf("shrinking, %5.1fs: %s, %s, %s, %s; %s",
				elapsed.Seconds(), plural.Count(size.Faults, "fault", "faults"), plural.Count(size.Clients, "client", "clients"),
				plural.Count(size.Masters, "master", "masters"), plural.Count(size.Keys, "key", "keys"), plural.Count(k.runs, "simulation", "simulations"))
		})
	}
}

// sampleRun is a run of a scenario with one seed.
type sampleRun struct {
	seed uint64
	h    *history.History
	v    *narrative.Violation // nil: none
}

// sample runs a scenario with one seed after the other, until it has violated the property need times or no
// longer can. If need is 0, it tries all seeds. first is the violation with the earliest of the seeds or, if
// need is 0, the violation that begins first.
func (k *shrinker) sample(s scenario.Scenario, need int) (hits int, first sampleRun) {
	width := runtime.GOMAXPROCS(0)
	decided := func(tried int) bool { return need > 0 && (hits >= need || hits+len(k.seeds)-tried < need) }
	for from := 0; from < len(k.seeds) && !decided(from); from += width {
		some := k.seeds[from:min(from+width, len(k.seeds))]
		got := make([]sampleRun, len(some))
		var all sync.WaitGroup
		for i, seed := range some {
			all.Go(func() {
				c := s
				c.Seed = seed
				h, r, err := k.how.Run.Judged(k.ctx, nil, c, checker.PropertiesOf(k.properties)...)
				if err == nil && k.ctx.Err() == nil { // otherwise the run was interrupted, or the scenario is invalid
					v, _ := r.FirstViolation(k.properties)
					got[i] = sampleRun{seed, h, v}
				}
			})
		}
		all.Wait()
		k.runs += len(some)
		if k.ctx.Err() != nil {
			return 0, sampleRun{}
		}
		for _, x := range got {
			if x.v == nil {
				continue
			}
			if hits++; first.v == nil || need == 0 && x.v.At < first.v.At {
				first = x
			}
		}
	}
	if k.runs%100 < width {
		k.reportStatus()
	}
	return hits, first
}

// manyMore multiplies the number of seeds if violations are rare.
const manyMore = 5

// measure counts the seeds with which the best scenario violates the property, and takes the seed whose
// violation begins first. If at most one seed in ten violates it, more seeds are tried from now on, because
// otherwise chance would hide smaller scenarios.
func (k *shrinker) measure() {
	hits, first := k.sample(k.best, 0)
	if hits == 0 {
		return // out of time
	}
	k.take(k.best, hits, first)
	if n := len(k.seeds); n == k.how.Seeds && hits*10 <= n {
		for i := range (manyMore - 1) * n {
			k.seeds = append(k.seeds, search.ScheduleSeed(k.how.Scenario.Seed, n+i))
		}
		k.measure()
	}
}

// outOfTime reports whether the time limit has passed or the context ended.
func (k *shrinker) outOfTime() bool { return k.ctx.Err() != nil }
