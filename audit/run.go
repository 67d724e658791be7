package audit

import (
	"cmp"
	"context"
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
	"lockpick/search"
	"lockpick/workload"
)

// Options says how to audit a lock.
type Options struct {
	Lock    string   // one of Lockpick's own; with Client a label
	Client  []string // the command that runs as each client; empty: the lock runs in this process
	Driver  string   // sim, process, docker, auto
	Budget  string   // Quick or Full
	Seed    uint64
	Only    []string // ids of situations; empty: all
	Most    int      // maximum number of schedules of each case, if the budget allows more; 0: no limit
	Workers int      // schedules at a time; 0: as many as processors; on real masters one more, at most 4
	Store   campaign.Store
	Image   string        // image of Redis for the driver docker
	One     bool          // the lock uses one master, even if Lock can use several
	Run     search.Runner // runs a schedule on the masters of Driver; nil: campaign.Run

	Progress func(format string, args ...any)                            // may be nil
	Live     func(Status)                                                // called after each schedule; may be nil
	Report   func(dir string, h *history.History, r *judge.Result) error // writes the report of a run that is kept; may be nil
}

// The budgets, by name.
const (
	Quick = "quick"
	Full  = "full"
)

// Budgets lists the budgets.
var Budgets = []string{Quick, Full}

// Status is the progress of an audit.
type Status struct {
	Schedules, Done int // schedules that are no longer necessary count as done
	Broken          int // number of situations with a broken property so far
	Now             string
}

// Run audits a lock. On simulated masters the same seed and budget give the same card for any
// number of workers. When ctx ends, Run still returns a result, from the schedules tried by then.
// An error is a *judge.HarnessError or a *scenario.Problem.
func Run(ctx context.Context, opt Options) (*Result, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	situations, err := choose(opt.Only)
	if err != nil {
		return nil, err
	}
	if opt.Run == nil {
		driver, why, err := campaign.ChooseDriver(ctx, opt.Driver, opt.Image)
		if err != nil {
			return nil, &judge.HarnessError{Err: err}
		}
		opt.Driver = driver.Name
		opt.Progress("%s", why)
	}
	subject, err := opt.subject(ctx)
	if err != nil {
		return nil, err
	}
	if subject.Queues {
		for i := range situations {
			situations[i] = situations[i].queued()
		}
	}
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
		if opt.Driver != scenario.Sim {
			// A run on real masters mostly waits: with clients in Python it took 0.2 of a processor. Four
			// at most, because what a run measures must not depend on its neighbours.
			opt.Workers = min(opt.Workers+1, 4)
		}
	}
	a := &audit{opt: opt, subject: subject, started: time.Now()}
	dir, err := opt.Store.CreateFolder("audit-"+subject.Lock, a.started)
	if err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	a.evidence = campaign.Store{Dir: filepath.Join(opt.Store.Dir, dir)}
	for i := range situations {
		a.plan(&situations[i])
	}
	a.try(ctx)
	result := &Result{
		Folder: a.evidence.Dir, Lock: subject.Lock, Client: subject.Client, Library: subject.Library, Driver: opt.Driver, Budget: opt.Budget, Seed: opt.Seed,
		Started: a.started.UTC(), Versions: map[string]string{"lockpick": campaign.Version(), "go": runtime.Version()},
	}
	for i := range situations {
		row, err := a.conclude(ctx, &situations[i])
		if err != nil {
			return nil, err
		}
		result.Rows = append(result.Rows, row)
		result.Schedules, result.Leases = result.Schedules+row.Schedules, result.Leases+row.Leases
	}
	if a.err != nil {
		return nil, a.err
	}
	if err := a.tidy(); err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	if a.redis != "" {
		result.Versions["redis"] = a.redis
	}
	result.Interrupted = ctx.Err() != nil
	result.Took = time.Since(a.started)
	return result, result.write(filepath.Join(a.evidence.Dir, ResultFile))
}

func (opt *Options) check() error {
	if opt.Progress == nil {
		opt.Progress = func(string, ...any) {}
	}
	if !slices.Contains(Budgets, opt.Budget) {
		return scenario.UnknownValue("budget", opt.Budget, Budgets)
	}
	if !slices.Contains(scenario.Drivers, opt.Driver) {
		return scenario.UnknownValue("driver", opt.Driver, scenario.Drivers)
	}
	if _, ok := workload.LockNamed(opt.Lock); !ok && len(opt.Client) == 0 {
		return scenario.UnknownValue("lock", opt.Lock, workload.CorrectNames())
	}
	if len(opt.Client) > 0 && opt.Driver == scenario.Sim {
		return &scenario.Problem{Field: "client", Says: "clients that are processes need real masters: choose another driver"}
	}
	return nil
}

// choose returns the situations of the battery with these ids; without ids, all.
func choose(only []string) ([]Situation, error) {
	all := Battery()
	if len(only) == 0 {
		return all, nil
	}
	var ids []string
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	for _, id := range only {
		if !slices.Contains(ids, id) {
			return nil, scenario.UnknownValue("only", id, ids)
		}
	}
	return slices.DeleteFunc(all, func(s Situation) bool { return !slices.Contains(only, s.ID) }), nil
}

// subject describes the lock and its abilities. It starts a client's command to learn them.
func (opt *Options) subject(ctx context.Context) (Subject, error) {
	if len(opt.Client) == 0 {
		kind, _ := workload.LockNamed(opt.Lock)
		return Subject{
			Lock: kind.Name, One: kind.First || opt.One, Extends: true, Fencing: kind.Fencing, Waits: true, Points: true, Clocks: true, Shares: true,
			Queues: kind.DeadWaiter > 0, Reentrant: kind.Reentrant,
		}, nil
	}
	s := scenario.Defaults()
	s.Lock, s.Client, s.Driver, s.Image = opt.Lock, opt.Client, opt.Driver, opt.Image
	lock, hello, err := campaign.Meet(ctx, s, campaign.Options{Progress: opt.Progress, Trust: campaign.TrustAll})
	if err != nil {
		return Subject{}, err
	}
	return Subject{
		Lock: lock, Client: opt.Client, Library: hello.Library, One: hello.Masters == 1, Extends: hello.Has(workload.CanExtend),
		Fencing: hello.Has(workload.CanFence), Points: hello.Has(workload.CanPoints), Clocks: hello.Bends(), Shares: hello.Has(workload.CanShare), TTLs: hello.Lifespan,
	}, nil
}

// audit is the state of one audit.
type audit struct {
	opt      Options
	subject  Subject
	started  time.Time
	evidence campaign.Store
	series   []*series
	skipped  map[string]string // reasons why situations are not applicable
	runs     map[string]int    // number of stored runs by the property that they violate

	mu     sync.Mutex
	status Status
	broken map[string]bool // situations with a broken property
	redis  string          // version of the masters
	err    error
}

// plan adds a series for each case of a situation that can run. Without any, it skips the
// situation.
func (a *audit) plan(s *Situation) {
	common := a.subject.lacks(s.Needs)
	why, planned := "", false
	for i := range s.Cases {
		c := &s.Cases[i]
		lacks := common
		switch {
		case lacks != "":
		case slices.Contains(c.NotOn, a.opt.Driver):
			lacks = fmt.Sprintf("it cannot be brought about on the driver %s", a.opt.Driver)
		case a.opt.Driver != scenario.Sim && c.Scenario.Network != (scenario.Network{}):
			lacks = "a real network does not lose, double or delay messages to order"
		case a.opt.Driver != scenario.Sim && c.Real.Full && a.opt.Budget != Full:
			lacks = "it takes long on real masters: use --budget full"
		default:
			lacks = a.subject.lacks(c.Needs)
		}
		if lacks == "" {
			if lacks = a.add(s, c); lacks == "" {
				planned = true
				continue
			}
		}
		if why == "" {
			why = lacks
		}
	}
	if !planned {
		if a.skipped == nil {
			a.skipped = map[string]string{}
		}
		a.skipped[s.ID] = why
	}
}

// The number of schedules of a case in the simulator, and the maximum number of runs on real
// masters, where further runs follow only while the earlier ones decide nothing.
const (
	quickSchedules = 10
	quickExplored  = 30
	fullFactor     = 20
	quickRuns      = 3
	fullRuns       = 5
)

func (a *audit) schedules(c *Case) int {
	n := quickSchedules
	switch {
	case a.opt.Driver != scenario.Sim && a.opt.Budget == Full:
		n = fullRuns
	case a.opt.Driver != scenario.Sim:
		n = quickRuns
	default:
		if c.Explore {
			n = quickExplored
		}
		if c.Quick > 0 {
			n = c.Quick
		}
		if a.opt.Budget == Full {
			n *= fullFactor
		}
	}
	if a.opt.Most > 0 {
		n = min(n, a.opt.Most)
	}
	return n
}

// add plans a case, or returns why it cannot run.
func (a *audit) add(s *Situation, c *Case) (why string) {
	base := c.Scenario
	base.Lock, base.Client, base.Driver, base.Image, base.Seed = a.subject.Lock, a.subject.Client, a.opt.Driver, a.opt.Image, a.opt.Seed
	if a.subject.One {
		base.Masters = 1
	}
	if !a.subject.Extends {
		base.Extend = 0
	}
	if a.opt.Driver != scenario.Sim && c.Real.TimeLimit > 0 {
		base.TimeLimit = c.Real.TimeLimit
	}
	if err := a.subject.TTLs.Fits(base.TTL); err != nil {
		return err.Error()
	}
	base = base.WithRequirements()
	if err := base.Check(); err != nil {
		return err.Error()
	}
	n := a.schedules(c)
	a.series = append(a.series, &series{of: s, at: c, base: base, judges: a.judged(s, &base), trials: make([]*trial, n), stop: n - 1, real: a.opt.Driver != scenario.Sim})
	a.status.Schedules += n
	return ""
}

// judged returns the levels and properties that a situation judges and that the lock can show in a
// scenario.
func (a *audit) judged(s *Situation, base *scenario.Scenario) []string {
	return slices.DeleteFunc(slices.Clone(s.Judges), func(name string) bool {
		switch cmp.Or(levelOf(name), name) {
		case checker.Extension.Level:
			return !a.subject.Extends || base.Extend == 0
		case checker.FencedWrites.Level, checker.FencingMonotone.Level:
			return !base.Fencing
		}
		return false
	})
}

// try tries all schedules, in order, with all workers.
func (a *audit) try(ctx context.Context) {
	type task struct {
		s *series
		i int
	}
	var all []task
	for _, s := range a.series {
		for i := range s.trials {
			all = append(all, task{s, i})
		}
	}
	if a.opt.Driver != scenario.Sim { // run the first schedule of every case first, since most cases need no other
		slices.SortStableFunc(all, func(x, y task) int { return x.i - y.i })
	}
	tasks := make(chan task)
	var workers sync.WaitGroup
	for range a.opt.Workers {
		workers.Go(func() {
			for t := range tasks {
				a.attempt(ctx, t.s, t.i)
			}
		})
	}
	for _, t := range all {
		tasks <- t
	}
	close(tasks)
	workers.Wait()
}

// attempt tries one schedule, unless earlier ones have decided the series.
func (a *audit) attempt(ctx context.Context, s *series, i int) {
	a.mu.Lock()
	if s.began.IsZero() {
		s.began = time.Now()
	}
	skip := i > s.stop || ctx.Err() != nil || a.err != nil
	a.status.Now = s.of.title(s.at)
	a.mu.Unlock()
	var t *trial
	var err error
	if !skip {
		t, err = a.run(ctx, s, i)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t != nil {
		t.after = time.Since(s.began)
		s.trials[i] = t
		a.redis = t.redis
		s.decideWhereToStop()
		if t.breaks(s.of) {
			if a.broken == nil {
				a.broken = map[string]bool{}
			}
			a.broken[s.of.ID] = true
		}
	}
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("situation %s, schedule %d of seed %d: %w", s.of.title(s.at), i+1, a.opt.Seed, err)
	}
	a.status.Done++
	a.status.Broken = len(a.broken)
	if a.opt.Live != nil {
		a.opt.Live(a.status)
	}
}
