package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/crew"
	"lockpick/search"
)

// Options says how to verify claims.
type Options struct {
	search.JobOptions
	Keep   string                                 // the findings for which runs are kept in Store (KeepAll, …); "" is KeepAll
	Client []string                               // the command that runs as a client process
	Trust  func(campaign.Program) error           // asked before a program that a claim names is started, see campaign.Options
	Done   func(*ClaimResult, search.ShardFolder) // called after each claim; may be nil
}

// Verify tests claims, and keeps the evidence in a folder of the store. On simulated masters the
// same seed and budget give the same result for any number of workers. When ctx ends, Verify still
// returns a result, in which findings without enough schedules are undecided. An error is a
// *judge.HarnessError or a *scenario.Problem.
func Verify(ctx context.Context, claims []Claim, opt Options) (*Result, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	opt.Keep = cmp.Or(opt.Keep, KeepAll)
	if !slices.Contains(Keeps, opt.Keep) {
		return nil, scenario.UnknownValue("evidence", opt.Keep, Keeps)
	}
	var err error
	if opt.Driver, err = search.ChooseDriver(ctx, opt.Drivers, opt.Driver, opt.Masters, opt.Progress); err != nil {
		return nil, err
	}
	v := &verifier{opt: opt, started: time.Now()}
	if v.bench, err = search.NewBench(search.Bench{
		Driver: opt.Driver, Report: opt.Report, Options: campaign.Options{Drivers: opt.Drivers, Client: opt.Client, Trust: opt.Trust},
	}, opt.Store, "claims-"+opt.Driver, v.started); err != nil {
		return nil, err
	}
	result := &Result{JobResult: opt.Result(v.bench.Folder.Dir, v.started)}
	for i := range claims {
		v.plan(&claims[i])
	}
	if err := v.run(ctx); err != nil {
		return nil, err
	}
	for _, c := range v.claims {
		result.Claims = append(result.Claims, *c.result)
	}
	if err := v.bench.Folder.RemoveDanglingLatest(); err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	result.Interrupted = ctx.Err() != nil
	result.Took = time.Since(v.started)
	return result, search.WriteResult(filepath.Join(result.Folder, ResultFile), result)
}

// verifier is the state of one verification.
type verifier struct {
	opt     Options
	started time.Time
	bench   *search.Bench
	claims  []*claimRun

	mu   sync.Mutex
	err  error // of a conclusion
	done int   // claims
	odd  int   // claims with unexpected results
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
	stop   int // schedules with a higher number are not necessary
	real   bool
}

// counted returns the results of the schedules that count; nil: one was not tried.
func (s *series) counted() []*trial { return search.Counted(s.trials, s.stop, s.real) }

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
	for i := range c.Cases {
		k := &c.Cases[i]
		r.result.Cases = append(r.result.Cases, CaseResult{Name: k.Name, Shows: k.Shows, Lock: k.Scenario.Lock})
		why := k.CannotRun(v.opt.Driver, v.opt.Budget)
		if _, err := campaign.ClientCommand(&k.Scenario); err != nil && k.Scenario.Service != nil && why == "" {
			why = err.Error()
		}
		if why != "" {
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
	s.run, s.trials, s.stop = r, make([]*trial, schedules), schedules-1
	s.base.Driver = v.opt.Driver
	// Simulated schedules are cheap, so all are tried. Schedules on real masters are tried again
	// only while they prove nothing, or with the full budget.
	s.prove, s.enough = (schedules+1)/2, schedules+1
	if s.real = v.opt.Driver != scenario.Sim; s.real {
		s.prove, s.enough = 1, 1
		if v.opt.Budget == search.Full {
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
	if s.base.Service == nil {
		s.base.UseSoftware(v.opt.Masters)
	}
	if v.opt.Driver != scenario.Sim && s.of.Real.TimeLimit > 0 {
		s.base.TimeLimit = s.of.Real.TimeLimit
	}
	r.series = append(r.series, s)
	r.open++
}

// run tries all schedules.
func (v *verifier) run(ctx context.Context) error {
	var all []*search.Series[trial]
	for _, c := range v.claims {
		if len(c.series) == 0 {
			v.conclude(ctx, c)
		}
		for _, s := range c.series {
			all = append(all, &search.Series[trial]{
				Name: s.name(), Count: len(s.trials),
				At:  func(i int) string { return fmt.Sprintf("claim %s, seed %d", s.name(), v.seed(i)) },
				Try: func(ctx context.Context, _ *campaign.Pool, i int) (*trial, error) { return v.schedule(ctx, s, i) },
				Done: func(i int, t *trial, after time.Duration) int {
					t.at = after
					s.trials[i] = t
					s.decideWhereToStop()
					return s.stop
				},
				Over: func() { v.over(ctx, s) },
			})
		}
	}
	e := search.Engine[trial]{Crew: crew.Of(v.opt.Workers)}
	if !v.bench.Simulated() {
		e.Crew, e.Breadth = crew.OnMasters(v.opt.Workers), true
	}
	if v.opt.Live != nil {
		e.Live = func(now string, done, of int) { v.opt.Live(done, of, func() string { return v.status(now, done, of) }) }
	}
	return cmp.Or(e.Run(ctx, all...), v.err)
}

// over notes that a series is complete, and concludes the claim with its last one.
func (v *verifier) over(ctx context.Context, s *series) {
	v.mu.Lock()
	s.run.open--
	done := s.run.open == 0
	v.mu.Unlock()
	if done {
		v.conclude(ctx, s.run)
	}
}

// status describes the progress.
func (v *verifier) status(now string, done, of int) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := fmt.Sprintf("%d of %d claims, %d of %d schedules", v.done, len(v.claims), done, of)
	if v.odd > 0 {
		text += fmt.Sprintf(", %d NOT AS EXPECTED", v.odd)
	}
	return text + "; now " + now
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
			all.Add(x.Evidence)
			if e.Verdict == checker.Violated && x.match != nil ||
				e.Verdict == checker.Holds && (x.Verdict == checker.Violated || all.Schedules >= s.enough && all.Missing() == nil) {
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
	if v.bench.Simulated() {
		seeded = seeded.WithRequirements()
	}
	x, err := v.bench.Try(ctx, seeded, false, s.properties()...)
	if x == nil || err != nil {
		return nil, err
	}
	t := &trial{seed: seeded.Seed, results: map[string]judgement{}, figures: map[string]float64{}, leases: x.Result.Counts.Granted, run: x.Run}
	for _, e := range s.expect {
		t.results[e.Property] = e.judge(x.History, x.Result)
	}
	if !s.twin {
		for _, m := range s.of.Measure {
			if value, ok := metrics[m].of(x.History, x.Result); ok {
				t.figures[m] = value
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
			for _, t := range s.counted() {
				if t != nil {
					k.Leases += t.leases
				}
			}
		}
	}
	if v.opt.Keep != KeepAll {
		v.failed(v.bench.Remove(c.unused()))
	}
	c.result.Outcome = c.result.outcome()
	v.mu.Lock()
	v.done++
	if c.result.Outcome == Unexpected {
		v.odd++
	}
	v.mu.Unlock()
	if v.opt.Done != nil {
		folder, err := search.NewShardFolder(v.bench.Folder.Dir, time.Since(v.started))
		v.failed(err)
		v.opt.Done(c.result, folder)
	}
}

// tried returns how many schedules count: those that ran, up to where the series stopped.
func (s *series) tried() int {
	n := 0
	for _, t := range s.counted() {
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

// keep stores the run of a schedule that is the evidence of a finding, if such runs are kept.
func (v *verifier) keep(ctx context.Context, s *series, t *trial, f *PropertyResult) {
	if !v.keeps(f) {
		return
	}
	if t.run == "" && ctx.Err() == nil {
		seeded := s.base
		seeded.Seed = t.seed
		run, err := v.bench.Keep(ctx, seeded)
		v.failed(err)
		t.run = run
	}
	f.Run, t.proof = t.run, true
}

// keeps reports whether a finding's run is kept.
func (v *verifier) keeps(f *PropertyResult) bool {
	switch v.opt.Keep {
	case KeepAll:
		return true
	case KeepViolated:
		return f.Found == checker.Violated || f.Outcome != Expected
	case KeepUnexpected:
		return f.Outcome != Expected
	}
	return false
}

// unused returns the runs on real masters that no finding refers to.
func (c *claimRun) unused() (runs []string) {
	for _, s := range c.series {
		for _, t := range s.trials {
			if t != nil && t.run != "" && !t.proof {
				runs = append(runs, t.run)
			}
		}
	}
	return runs
}
