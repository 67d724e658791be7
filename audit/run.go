package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/search"
	"lockpick/workload"
)

// Options says how to audit a lock.
type Options struct {
	Lock   string             // one of Lockpick's own; with Client a label
	Client []string           // the command that runs as each client; empty: the lock runs in this process
	On     *scenario.Scenario // the service whose servers the lock uses, and their number; nil: masters of Redis
	search.JobOptions
	Only    []string                               // ids of situations; empty: all
	Wording checker.Wording                        // of advice on single schedules; nil: search.GivenSchedules
	One     bool                                   // the lock uses one master, even if Lock can use several
	Run     search.Runner                          // runs a schedule on the masters of Driver; nil: campaign.Run
	Resume  bool                                   // go on with the newest audit in the store that has the same options and was ended early
	bound   time.Duration                          // real time after which a schedule is ended; 0: by its scenario
	folder  string                                 // the folder of an audit to which this one adds; empty: a new one
	Done    func(*Result, Row, search.ShardFolder) // called after each situation, with the card so far; may be nil
}

// Run audits a lock. On simulated masters the same seed and budget give the same card for any
// number of workers. When ctx ends, Run still returns a result, from the schedules tried by then.
// An error is a *judge.HarnessError or a *scenario.Problem.
func Run(ctx context.Context, opt Options) (*Result, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	if opt.Wording == nil {
		opt.Wording = search.GivenSchedules
	}
	situations, err := choose(opt.Only)
	if err != nil {
		return nil, err
	}
	if opt.Run == nil && opt.On == nil {
		if opt.Driver, err = search.ChooseDriver(ctx, opt.Drivers, opt.Driver, opt.Masters, opt.Progress); err != nil {
			return nil, err
		}
	}
	subject, err := opt.subject(ctx)
	if err != nil {
		return nil, err
	}
	situations = slices.DeleteFunc(situations, func(s Situation) bool {
		return !s.concerns(&subject) && len(opt.Only) == 0
	})
	if subject.Queues {
		for i := range situations {
			situations[i] = situations[i].queued()
		}
	}
	a := &audit{
		opt: opt, subject: subject, started: time.Now(), situations: situations, rows: make([]*Row, len(situations)), decided: make(chan int, len(situations)),
		skipped: map[string]string{}, runs: map[string]int{}, broken: map[string]bool{},
		bench: &search.Bench{Driver: opt.Driver, Folder: campaign.Store{Dir: opt.folder}, Run: opt.Run, Report: opt.Report, Options: campaign.Options{Drivers: opt.Drivers, Trust: campaign.TrustAll}},
	}
	if opt.Resume {
		a.takeUp(opt.stored(true))
	}
	if a.bench.Folder.Dir == "" {
		if a.bench, err = search.NewBench(*a.bench, opt.Store, "audit-"+subject.Lock, a.started); err != nil {
			return nil, err
		}
	}
	for i := range situations {
		if a.rows[i] == nil {
			a.plan(&situations[i])
		}
	}
	tried := make(chan error, 1)
	go func() {
		err := a.try(ctx)
		close(a.decided)
		tried <- err
	}()
	err = a.concludeAll(ctx)
	if err = cmp.Or(<-tried, err); err != nil {
		return nil, err
	}
	for i := range a.situations { // those that the end of ctx left undecided
		if err := a.concludeRow(ctx, i); err != nil {
			return nil, err
		}
	}
	if err := a.tidy(); err != nil {
		return nil, &judge.HarnessError{Err: err}
	}
	result := a.card(ctx.Err() != nil)
	return result, result.write()
}

// takeUp makes the audit go on with one that was ended early: what is complete in it is not tried again.
func (a *audit) takeUp(before *Result) {
	if before == nil {
		a.opt.Progress("the store has no audit of these options that was ended early: this is a new one")
		return
	}
	a.bench.Folder.Dir = before.Folder
	n := 0
	for i := range before.Rows {
		if row := &before.Rows[i]; row.Complete {
			a.rows[slices.IndexFunc(a.situations, func(s Situation) bool { return s.ID == row.ID })] = row
			n++
		}
	}
	a.opt.Progress("going on with %s: %d of %d situations are done", before.Folder, n, len(a.rows))
}

// concludeRow makes the row of a situation, unless it is there, and writes the card.
func (a *audit) concludeRow(ctx context.Context, i int) error {
	if a.rows[i] != nil {
		return nil
	}
	row, err := a.conclude(ctx, &a.situations[i])
	if err != nil {
		return err
	}
	a.rows[i] = &row
	if a.opt.Done != nil {
		folder, err := search.NewShardFolder(a.bench.Folder.Dir, time.Since(a.started))
		if err != nil {
			return err
		}
		a.opt.Done(a.card(true), row, folder)
	}
	return a.card(true).write()
}

// concludeAll makes the rows of all situations, each as soon as it is decided. On simulated masters it keeps their order,
// so that the same runs become evidence for any number of workers. After an error the schedules go on to their end.
func (a *audit) concludeAll(ctx context.Context) (err error) {
	is := make([]bool, len(a.situations))
	next := 0
	for i := range a.decided {
		is[i] = true
		if !a.bench.Simulated() {
			err = cmp.Or(err, a.concludeRow(ctx, i))
			continue
		}
		for ; next < len(is) && (is[next] || a.rows[next] != nil) && err == nil; next++ {
			err = a.concludeRow(ctx, next)
		}
	}
	return err
}

// card makes the result of the rows so far.
func (a *audit) card(interrupted bool) *Result {
	r := &Result{Lock: a.subject.Lock, Client: a.subject.Client, Library: a.subject.Library, Server: a.opt.Masters.Server, One: a.opt.One, JobResult: a.opt.Result(a.bench.Folder.Dir, a.started)}
	r.Interrupted, r.Took = interrupted, time.Since(a.started)
	for i, row := range a.rows {
		if row == nil {
			untried := lacking(a.situations[i], "not tried yet", judge.Program+" audit --resume goes on")
			row = &untried
		}
		r.add(*row)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if name, v := judge.ServerOf(a.versions); v != "" {
		r.Versions[name] = v
	}
	return r
}

func (opt *Options) check() error {
	if opt.On == nil {
		opt.On = scenario.OfStore(opt.Client)
	}
	if opt.On != nil {
		opt.Lock, opt.Client, opt.Driver = opt.On.Name, opt.On.Client, scenario.Process
	}
	if err := opt.Check(); err != nil {
		return err
	}
	if opt.On != nil {
		on := *opt.On
		on.UseSoftware(opt.Masters)
		if err := on.Check(); err != nil {
			return err
		}
	}
	if _, ok := workload.LockNamed(opt.Lock); !ok && len(opt.Client) == 0 {
		return scenario.UnknownValue("lock", opt.Lock, workload.CorrectNames())
	}
	if len(opt.Client) > 0 && opt.Driver == scenario.Sim {
		return &scenario.Problem{Field: "client", Says: "clients that are processes need real masters: choose another driver"}
	}
	s := scenario.Defaults()
	s.Driver = opt.Driver
	s.UseSoftware(opt.Masters)
	return s.Check()
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
			Lock: kind.Name, Kind: kind.Kind, One: kind.Masters == workload.OneMaster || opt.One, Extends: true, Fencing: kind.Fencing, Waits: true, Points: true, Clocks: !kind.Connects, Shares: true,
			Queues: kind.DeadWaiter > 0, Reentrant: kind.Reentrant,
		}, nil
	}
	s := scenario.Defaults()
	s.Lock, s.Client, s.Driver = opt.Lock, opt.Client, opt.Driver
	s.UseSoftware(opt.Masters)
	service := ""
	if opt.On != nil {
		s, service = placed(s, opt.On), opt.On.Service.Name
	}
	lock, hello, err := campaign.Meet(ctx, s, campaign.Options{Drivers: opt.Drivers, Progress: opt.Progress, Trust: campaign.TrustAll})
	if err != nil {
		return Subject{}, err
	}
	return opt.described(lock, service, &hello), nil
}

// described returns the subject whose client describes itself by hello.
func (opt *Options) described(lock, service string, hello *workload.Hello) Subject {
	return Subject{
		Lock: lock, Client: opt.Client, Library: hello.Library, Service: service, Kind: hello.Kind, One: hello.Masters == workload.OneMaster || opt.One, Extends: hello.Has(workload.CanExtend),
		Fencing: hello.Has(workload.CanFence), Points: hello.Has(workload.CanPoints), Clocks: hello.Skews(), Shares: hello.Has(workload.CanShare), TTLs: hello.Lifespan,
		Queues: hello.DeadWaiter() > 0,
	}
}

// audit is the state of one audit.
type audit struct {
	opt        Options
	subject    Subject
	started    time.Time
	bench      *search.Bench
	situations []Situation
	rows       []*Row // by situation; nil: not concluded
	series     []*series
	skipped    map[string]string // reasons why situations are not applicable
	runs       map[string]int    // number of stored runs by the property that they violate
	worked     atomic.Bool       // the lock was granted in a schedule
	decided    chan int          // situations of which all schedules are done

	mu       sync.Mutex
	broken   map[string]bool   // situations with a broken property
	versions map[string]string // of a run (judge.ServerOf)
}

// plan adds a series for each case of a situation that can run. Without any, it skips the
// situation.
func (a *audit) plan(s *Situation) {
	common := a.subject.lacks(s.Needs)
	if s.Kind != "" && s.Kind != a.subject.kind() {
		common = fmt.Sprintf("the lock is not a %s", s.Kind.Words())
	}
	why, planned := "", false
	for i := range s.Cases {
		c := &s.Cases[i]
		missing := common
		switch {
		case missing != "":
		case slices.Contains(c.NotOn, a.opt.Driver):
			missing = fmt.Sprintf("it cannot be brought about on the driver %s", a.opt.Driver)
		case a.opt.Driver != scenario.Sim && c.Scenario.Network != (scenario.Network{}):
			missing = "a real network does not lose, double or delay messages to order"
		default:
			missing = a.subject.lacks(c.Needs)
		}
		if missing == "" {
			if missing = a.add(s, c); missing == "" {
				planned = true
				continue
			}
		}
		if why == "" {
			why = missing
		}
	}
	if !planned {
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
	case a.opt.Driver != scenario.Sim && a.opt.Budget == search.Full:
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
		if a.opt.Budget == search.Full {
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
	base.Lock, base.Client, base.Driver, base.Seed = a.subject.Lock, a.subject.Client, a.opt.Driver, a.opt.Seed
	base.UseSoftware(a.opt.Masters)
	if a.subject.One {
		base.Masters = 1
	}
	if on := a.opt.On; on != nil {
		if why := onlyOfRedis(&base, on.Service.Name); why != "" {
			return why
		}
		base = placed(base, on)
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
		var p *scenario.Problem
		errors.As(err, &p) // the only error of Check
		return p.Says
	}
	if a.opt.Driver != scenario.Sim && c.Real.Full && a.opt.Budget != search.Full { // last: what can never run needs no budget
		return "it takes long on real masters: use --budget full"
	}
	n := a.schedules(c)
	a.series = append(a.series, &series{of: s, at: c, base: base, judges: a.judged(s, &base), trials: make([]*trial, n), stop: n - 1, real: a.opt.Driver != scenario.Sim})
	return ""
}

// judged returns the levels and properties that a situation judges and that the lock can show in a
// scenario.
func (a *audit) judged(s *Situation, base *scenario.Scenario) []string {
	return slices.DeleteFunc(slices.Clone(s.Judges), func(name string) bool {
		if a.subject.Service != "" && !a.subject.judges(name) {
			return true
		}
		switch featureOf(name) {
		case checker.Extensions:
			return !a.subject.Extends || base.Extend == 0
		case checker.FencingTokens:
			return !base.Fencing
		}
		return false
	})
}
