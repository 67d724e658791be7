package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/crew"
	"lockpick/search"
)

// Options says how to verify claims.
type Options struct {
	Driver  string // sim, process, docker, auto
	Budget  string // quick, full
	Seed    uint64 // the first schedule of each case has the seed Seed × 1,000,000
	Most    int    // maximum number of schedules or runs of each case, if the budget allows more; 0: no limit
	Workers int    // how many schedules run at a time; 0: as crew.Of and crew.OnMasters choose
	Store   campaign.Store
	Keep    string                       // the findings for which runs are kept in Store (KeepAll, …); "" is KeepAll
	Client  []string                     // the command that runs as a client process
	Image   string                       // image of Redis for the driver docker
	Trust   func(campaign.Program) error // asked before a program that a claim names is started, see campaign.Options

	Progress func(format string, args ...any)                            // may be nil
	Live     func(Status)                                                // called after each schedule; may be nil
	Done     func(*ClaimResult)                                          // called after each claim; may be nil
	Report   func(dir string, h *history.History, r *judge.Result) error // writes the report of a run that is kept; may be nil
}

// Status is the progress of a verification.
type Status struct {
	Claims, ClaimsDone       int
	Schedules, ScheduledDone int // schedules that are no longer necessary count as done
	Unexpected               int // number of claims with unexpected results so far
	Now                      string
}

// Verify tests claims, and keeps the evidence in a folder of the store. On simulated masters the
// same seed and budget give the same result for any number of workers. When ctx ends, Verify still
// returns a result, in which findings without enough schedules are undecided. An error is a
// *judge.HarnessError or a *scenario.Problem.
func Verify(ctx context.Context, claims []Claim, opt Options) (*Result, error) {
	if !slices.Contains(Budgets, opt.Budget) {
		return nil, scenario.UnknownValue("budget", opt.Budget, Budgets)
	}
	if !slices.Contains(scenario.Drivers, opt.Driver) {
		return nil, scenario.UnknownValue("driver", opt.Driver, scenario.Drivers)
	}
	opt.Keep = cmp.Or(opt.Keep, KeepAll)
	if !slices.Contains(Keeps, opt.Keep) {
		return nil, scenario.UnknownValue("evidence", opt.Keep, Keeps)
	}
	if opt.Progress == nil {
		opt.Progress = func(string, ...any) {}
	}
	driver, why, err := campaign.ChooseDriver(ctx, opt.Driver, campaign.Software{Image: opt.Image})
	if err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	opt.Driver = driver.Name
	opt.Progress("%s", why)
	v := &verifier{opt: opt, started: time.Now()}
	dir, err := opt.Store.CreateFolder("claims-"+opt.Driver, v.started)
	if err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	v.evidence = campaign.Store{Dir: filepath.Join(opt.Store.Dir, dir)}
	result := &Result{
		Folder: v.evidence.Dir, Driver: opt.Driver, Budget: opt.Budget, Seed: opt.Seed, Started: v.started.UTC(),
		Versions: map[string]string{"lockpick": campaign.Version(), "go": runtime.Version()},
	}
	for i := range claims {
		v.plan(&claims[i])
	}
	if err := v.run(ctx); err != nil {
		return nil, err
	}
	for _, c := range v.claims {
		result.Claims = append(result.Claims, *c.result)
	}
	if err := v.evidence.RemoveDanglingLatest(); err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	result.Interrupted = ctx.Err() != nil
	result.Took = time.Since(v.started)
	return result, result.write(filepath.Join(v.evidence.Dir, ResultFile))
}

// verifier is the state of one verification.
type verifier struct {
	opt      Options
	started  time.Time
	evidence campaign.Store
	claims   []*claimRun

	mu     sync.Mutex
	status Status
	err    error
}

// claimRun is a claim that is being verified.
type claimRun struct {
	claim  *Claim
	result *ClaimResult
	series []*series // the schedules that remain or were tried
	open   int       // how many of these have not ended, guarded by verifier.mu
}

// series holds the schedules of one scenario: a case's, or its twin's.
type series struct {
	run    *claimRun
	of     *Case
	twin   bool
	base   scenario.Scenario
	expect []Expect
	prove  int // how many schedules must contribute evidence; with fewer, the case is undecided
	enough int // after so many contributing schedules with enough evidence together, no more are tried
	trials []*trial
	left   int // how many schedules have not ended, guarded by verifier.mu
	stop   int // schedules with a higher number do not count
	began  time.Time
	took   time.Duration
}

// trial is the result of one schedule.
type trial struct {
	seed    uint64
	results map[string]judgement // by property
	figures map[string]float64
	leases  int
	at      time.Duration // real time since the series began
	run     string        // the folder in which it is kept, if any
	proof   bool          // a finding refers to it
}

func (v *verifier) plan(c *Claim) {
	r := &claimRun{claim: c, result: &ClaimResult{ID: c.ID, Slug: c.Slug, Claim: c.Claim, Group: c.Group, Bug: c.Bug}}
	v.claims = append(v.claims, r)
	v.status.Claims++
	for i := range c.Cases {
		k := &c.Cases[i]
		r.result.Cases = append(r.result.Cases, CaseResult{Name: k.Name, Shows: k.Shows, Lock: k.Scenario.Lock})
		if why := k.CannotRun(v.opt.Driver, v.opt.Budget); why != "" {
			r.result.Cases[i].Skipped = why
			continue
		}
		n := k.tries(v.opt.Budget)
		switch v.opt.Driver {
		case scenario.Sim:
		case scenario.Virtual: // runs take less time than on real masters
			n = max(n, k.attempts(v.opt.Budget))
		default:
			n = k.attempts(v.opt.Budget)
		}
		if v.opt.Most > 0 {
			n = min(n, v.opt.Most)
		}
		v.add(r, &series{of: k, base: k.Scenario, expect: k.Expect}, n)
		if k.Twin == nil {
			continue
		}
		var acquitted []Expect
		for _, e := range k.Expect {
			if e.Verdict == checker.Violated {
				acquitted = append(acquitted, Expect{Property: e.Property, Verdict: checker.Holds})
			}
		}
		v.add(r, &series{of: k, twin: true, base: k.Twin.Scenario, expect: acquitted}, n)
	}
}

func (v *verifier) add(r *claimRun, s *series, schedules int) {
	s.run, s.trials, s.left, s.stop = r, make([]*trial, schedules), schedules, schedules-1
	s.base.Driver = v.opt.Driver
	// Simulated schedules are cheap, so all are tried. Schedules on real masters are tried again
	// only while they prove nothing, or with the full budget.
	s.prove, s.enough = (schedules+1)/2, schedules+1
	if v.opt.Driver != scenario.Sim {
		s.prove, s.enough = 1, 1
		if v.opt.Budget == Full {
			s.prove, s.enough = 3, 3
		}
		s.base.StopOnViolation = !s.twin && len(s.expect) == 1 && s.expect[0].Verdict == checker.Violated && !checker.Named(s.expect[0].Property).OnlyClaims
	}
	s.base.Properties = nil // set below, since some properties are judged only if named
	for _, e := range s.expect {
		if !checker.Named(e.Property).OnlyClaims {
			s.base.Properties = append(s.base.Properties, e.Property)
		}
	}
	if v.opt.Image != "" {
		s.base.Image = v.opt.Image
	}
	if v.opt.Driver != scenario.Sim && s.of.Real.TimeLimit > 0 {
		s.base.TimeLimit = s.of.Real.TimeLimit
	}
	r.series = append(r.series, s)
	r.open++
	v.status.Schedules += schedules
}

// run tries all schedules, in order.
func (v *verifier) run(ctx context.Context) error {
	type task struct {
		s *series
		i int
	}
	var tasks []task
	most := 0
	var all []*series
	for _, c := range v.claims {
		if len(c.series) == 0 {
			v.conclude(ctx, c)
		}
		for _, s := range c.series {
			all = append(all, s)
			most = max(most, len(s.trials))
		}
	}
	workers := crew.OnMasters(v.opt.Workers)
	if v.opt.Driver == scenario.Sim {
		workers = crew.Of(v.opt.Workers)
		for _, s := range all {
			for i := range s.trials {
				tasks = append(tasks, task{s, i})
			}
		}
	} else { // run the first schedule of every series first, since most series need no other
		for i := range most {
			for _, s := range all {
				if i < len(s.trials) {
					tasks = append(tasks, task{s, i})
				}
			}
		}
	}
	crew.Each(workers, tasks, func(t task) { v.try(ctx, t.s, t.i) })
	return v.err
}

// try tries one schedule, unless an earlier one has ended the series.
func (v *verifier) try(ctx context.Context, s *series, i int) {
	v.mu.Lock()
	if s.began.IsZero() {
		s.began = time.Now()
	}
	skip := i > s.stop || ctx.Err() != nil || v.err != nil
	v.status.Now = s.name()
	v.mu.Unlock()
	var t *trial
	var err error
	if !skip {
		t, err = v.schedule(ctx, s, i)
	}
	v.mu.Lock()
	if t != nil {
		t.at = time.Since(s.began)
		s.trials[i] = t
		s.decideWhereToStop()
	}
	if err != nil && v.err == nil {
		v.err = fmt.Errorf("claim %s, seed %d: %w", s.name(), v.seed(i), err)
	}
	v.status.ScheduledDone++
	s.left--
	done := false
	if s.left == 0 {
		s.took = time.Since(s.began)
		s.run.open--
		done = s.run.open == 0 && v.err == nil
	}
	v.mu.Unlock()
	if done {
		v.conclude(ctx, s.run)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.opt.Live != nil {
		v.opt.Live(v.status)
	}
}

func (s *series) name() string {
	name := s.run.claim.ID
	if s.of.Name != "" {
		name += " (" + s.of.Name + ")"
	}
	if s.twin {
		name += ", the twin"
	}
	return name
}

func (v *verifier) seed(i int) uint64 { return v.opt.Seed*1_000_000 + uint64(i) }

// decideWhereToStop checks whether the schedules tried so far are enough, and sets where to
// stop.
func (s *series) decideWhereToStop() {
	if len(s.of.Measure) > 0 && !s.twin && s.enough > len(s.trials) {
		return
	}
	last := 0
	for _, e := range s.expect {
		at := -1
		var all search.Proof
		for i, t := range s.trials {
			if t == nil {
				continue
			}
			x := t.results[e.Property]
			all.Add(x.evidence)
			if e.Verdict == checker.Violated && x.match != nil ||
				e.Verdict == checker.Holds && (x.verdict == checker.Violated || all.Schedules >= s.enough && all.Missing() == nil) {
				at = i
				break
			}
		}
		if at < 0 {
			return
		}
		last = max(last, at)
	}
	s.stop = min(s.stop, last)
}

// schedule runs one schedule and returns its result, or nil if ctx ended.
func (v *verifier) schedule(ctx context.Context, s *series, i int) (*trial, error) {
	seeded := s.base
	seeded.Seed = v.seed(i)
	var h *history.History
	var r *judge.Result
	run := ""
	if v.opt.Driver == scenario.Sim {
		var err error
		if h, err = campaign.Simulate(ctx, seeded.WithRequirements(), campaign.SimulateOptions{}); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, nil
		}
		if r, err = judge.History(h, s.properties()...); err != nil {
			return nil, err
		}
	} else {
		dir, hh, rr, err := campaign.Run(ctx, seeded, campaign.Options{Store: v.evidence, Client: v.opt.Client, Trust: v.opt.Trust})
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, nil
		}
		h, r, run = hh, rr, filepath.Base(dir)
		if err := v.report(dir, h, r); err != nil {
			return nil, err
		}
	}
	t := &trial{seed: seeded.Seed, results: map[string]judgement{}, figures: map[string]float64{}, leases: r.Counts.Granted, run: run}
	for _, e := range s.expect {
		t.results[e.Property] = e.judge(h, r)
	}
	if !s.twin {
		for _, m := range s.of.Measure {
			if x, ok := metrics[m].of(h, r); ok {
				t.figures[m] = x
			}
		}
	}
	return t, nil
}

// properties returns the properties by which a schedule is judged.
func (s *series) properties() []checker.Property {
	if len(s.of.Measure) > 0 && !s.twin {
		return checker.Properties // a metric may need any of them
	}
	return checker.PropertiesOf(s.base.Properties)
}

// conclude summarizes a claim after all its schedules were tried, and keeps the evidence.
func (v *verifier) conclude(ctx context.Context, c *claimRun) {
	for i := range c.result.Cases {
		k := &c.result.Cases[i]
		for _, s := range c.series {
			if s.of != &c.claim.Cases[i] {
				continue
			}
			if s.twin {
				k.Twin = &TwinResult{Shows: s.of.Twin.Shows, Lock: s.base.Lock, Schedules: s.tried(), Findings: v.findings(ctx, s)}
				continue
			}
			k.Schedules, k.Findings, k.Figures = s.tried(), v.findings(ctx, s), s.measured()
			for _, t := range s.trials[:s.stop+1] {
				if t != nil {
					k.Leases += t.leases
				}
			}
		}
	}
	v.failed(v.discard(c))
	c.result.Outcome = c.result.outcome()
	v.mu.Lock()
	v.status.ClaimsDone++
	if c.result.Outcome == Unexpected {
		v.status.Unexpected++
	}
	v.mu.Unlock()
	if v.opt.Done != nil {
		v.opt.Done(c.result)
	}
}

// tried returns how many schedules count: those that ran, up to where the series stopped.
func (s *series) tried() int {
	n := 0
	for _, t := range s.trials[:s.stop+1] {
		if t != nil {
			n++
		}
	}
	return n
}

// failed records an error of the harness, if it is not nil.
func (v *verifier) failed(err error) {
	if err == nil {
		return
	}
	v.mu.Lock()
	v.err = errors.Join(v.err, err)
	v.mu.Unlock()
}

func (v *verifier) report(dir string, h *history.History, r *judge.Result) error {
	if v.opt.Report == nil {
		return nil
	}
	return v.opt.Report(dir, h, r)
}
