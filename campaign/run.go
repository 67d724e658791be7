package campaign

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/cluster/account"
	"lockpick/cluster/sim/world"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/wholefile"
	"lockpick/nemesis"
	"lockpick/redlock/protocol"
	"lockpick/workload"
)

// Options are the options of a run, in addition to its scenario.
type Options struct {
	Drivers  Drivers // what may run masters and clients; zero: simulated masters alone
	Store    Store
	Progress func(format string, args ...any) // called with a line for each long step; may be nil
	Live     func(Status)                     // called a few times a second while the clients work; may be nil
	Client   []string                         // the command of a client process, such as lockpick client
	// Trust is asked before a run starts a program that its scenario names. Its error ends the run before anything is
	// started. If it is nil, no such program is started.
	Trust func(Program) error
	// Session, if it is set, is called instead of letting clients work: somebody else's clients use the masters. The run
	// ends when it returns.
	Session func(context.Context, *Session) error
	// AllowRemote permits masters on other machines (scenario.Scenario.At).
	AllowRemote bool

	Lint   bool                                  // record the rules of lockpick watch that commands to simulated masters break; Run always does
	Source func(seed, stream uint64) rand.Source // random source of clients and nemesis; nil: PCG

	slow  func(io.Writer) io.Writer // for tests: wraps the writer of the history
	ahead func() time.Duration      // for tests: see hostClock.ahead; nil: wallAhead
}

// Status is the progress of a run.
type Status struct {
	Stage      Stage
	Elapsed    time.Duration
	Limit      time.Duration
	Granted    int
	Faults     []string // installed now
	Violations int      // of mutual exclusion (L2), which is counted while a run goes on; everything else is judged when it is over
	Stopping   bool     // another property is violated, and the run stops for it (stop_on_violation)
}

// Run runs a scenario and returns its folder in the store, its history and its result. If ctx ends, Run
// records the interrupt before it cancels anything, heals the faults, removes the masters, and judges what
// was recorded; if ctx ends while it judges, it returns the cause. An error is a *scenario.Problem of the scenario, a *judge.HarnessError, or that of Options.Trust.
func Run(ctx context.Context, s scenario.Scenario, opt Options) (dir string, h *history.History, r *judge.Result, err error) {
	if err := s.Check(); err != nil {
		return "", nil, nil, err
	}
	if err := opt.checkTrust(&s); err != nil {
		return "", nil, nil, err
	}
	if err := opt.findClient(&s); err != nil {
		return "", nil, nil, err
	}
	s = s.WithRequirements()
	if opt.Progress == nil {
		opt.Progress = func(string, ...any) {}
	}
	driver, why, err := opt.Drivers.of(ctx, &s)
	if err != nil { // perhaps no server can be started to ask for its version
		announceDescriptors(&s, opt.Progress)
	}
	if err == nil && opt.Session != nil && driver.Virtual {
		return "", nil, nil, &scenario.Problem{Field: "driver", Says: "programs connect to real masters only, and here is the " + why}
	}
	if err == nil && s.Driver == scenario.Auto && driver.Name == scenario.Sim && s.Connects() {
		driver, why, err = opt.Drivers.Choose(ctx, scenario.Virtual, s.Software())
	}
	if err == nil && driver.Virtual && s.Guarded() {
		err = fmt.Errorf("users and TLS (acl, tls) need real masters: %s", why)
	}
	if err != nil {
		return "", nil, nil, &judge.HarnessError{Err: err}
	}
	opt.Progress("%s", why)
	announceEstimate(ctx, s, opt.Store.Dir, opt.Progress)
	started := time.Now()
	run, err := opt.Store.create(s.Name, started)
	if err != nil {
		return "", nil, nil, &judge.HarnessError{Err: err}
	}
	dir = filepath.Join(opt.Store.Dir, run)
	stored := s.WithoutPasswords()
	yaml, err := stored.YAML()
	if opt.Session != nil {
		yaml = nil // no scenario repeats what others did
	} else if err == nil {
		err = wholefile.Replace(filepath.Join(dir, judge.ScenarioFile), 0o644, wholefile.Content(yaml))
	}
	if err == nil {
		err = announceHistory(dir, opt.reported(headerFor(&s, driver.Name, nil, workload.Hello{}, string(yaml), started)))
	}
	if err != nil {
		return dir, nil, nil, &judge.HarnessError{Err: err}
	}
	if err := execute(ctx, s, driver, dir, string(yaml), started, opt); err != nil {
		if errors.As(err, new(noServerError)) { // nothing happened
			return "", nil, nil, errors.Join(err, os.RemoveAll(dir), opt.Store.RemoveDanglingLatest())
		}
		return dir, nil, nil, &judge.HarnessError{Err: err}
	}
	judging := ctx
	if ctx.Err() != nil { // the interrupt ended the run, and what it recorded is judged nevertheless
		judging = context.WithoutCancel(ctx)
	}
	opt.Progress("judging the history")
	h, r, err = judge.Interruptible(judging, func() (*history.History, *judge.Result, error) {
		return judge.ForReport(filepath.Join(dir, judge.HistoryFile))
	})
	if err != nil {
		return dir, h, nil, &judge.HarnessError{Err: err}
	}
	r.Since = opt.Store.Since(run, stored, r)
	if err := judge.WriteResult(dir, r); err != nil {
		return dir, h, r, &judge.HarnessError{Err: err}
	}
	return dir, h, r, nil
}

// execute runs the scenario on masters of a driver, and writes the complete history.
func execute(ctx context.Context, s scenario.Scenario, driver Driver, dir, yaml string, started time.Time, opt Options) (err error) {
	opt.Lint = true
	file, err := os.OpenFile(filepath.Join(dir, judge.HistoryFile), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if s.UsesProcesses() {
		if err := os.MkdirAll(filepath.Join(dir, clientsDir), 0o755); err != nil {
			return err
		}
	}
	if !driver.Virtual {
		announceDescriptors(&s, opt.Progress)
		defer func() { err = withDescriptors(&s, err) }()
		for _, gone := range opt.Drivers.sweepOthers(ctx, driver.Name) {
			opt.Progress("removed what a dead harness left: %s", gone)
		}
	}
	cfg := s.Config()
	cfg.LogDir, cfg.Progress = filepath.Join(dir, mastersDir), opt.Progress
	return driver.Lend(ctx, &s, cfg, func(masters cluster.Cluster) (err error) {
		c := newCampaign(ctx, s, opt, driver, masters)
		c.dir = dir
		c.file, _ = file.Stat() // nil: unknown
		if c.virtual && c.sim == nil {
			c.opt.Live = nil // its Elapsed would be virtual time
		} else if err := masters.Shim(); err != nil && s.Needs(fault.Shim) {
			opt.Progress("some faults will be skipped: %v", err)
		}
		out, flush := io.Writer(file), func() error { return nil }
		if c.sim != nil { // a buffer is safe: a new run with the seed repeats lines that a killed harness lost
			buffer := bufio.NewWriterSize(file, 1<<16)
			defer func() { err = errors.Join(err, buffer.Flush()) }()
			out, flush = buffer, buffer.Flush
		}
		if opt.slow != nil {
			out = opt.slow(out)
		}
		if err := c.meet(false); err != nil {
			return err
		}
		return c.record(yaml, started, func(h history.Header, now func() time.Duration) (*history.Recorder, error) {
			recorder, err := history.NewRecorder(out, opt.reported(h), now)
			return recorder, errors.Join(err, flush(), cutAfterHeader(file))
		})
	})
}

// campaign is the state of one run.
type campaign struct {
	s          scenario.Scenario
	dir        string           // folder of the run
	file       os.FileInfo      // the history file; nil: in memory, or unknown
	hello      workload.Hello   // the client's description of itself, if it is a command of the user
	account    *account.Account // nil: the lock reports its votes itself
	keyPrefix  string           // begins the names of all keys; empty: nothing else is stored on the masters
	lint       *Lint            // nil: nobody follows its commands
	masters    cluster.Cluster
	sim        *simulation // the same masters, if they are simulated
	virtual    bool        // time is virtual: masters are simulated or in memory
	runtime    protocol.Runtime
	start      time.Time       // start of the run, on the runtime's clock
	outer      context.Context // interrupts the run when it ends
	recorder   *history.Recorder
	nemesis    *nemesis.Nemesis
	watch      checker.Watch
	stopping   atomic.Bool // a violation that watch does not count stops the run
	granted    atomic.Int64
	visiting   atomic.Bool // the final acquisitions have begun
	stopVisits atomic.Pointer[context.CancelCauseFunc]
	opt        Options
	cancel     context.CancelCauseFunc // ends all activities of the run
	work       atomic.Pointer[workload.Workload]
	session    *Session // instead of work, if somebody else's clients use the masters
	strangers  strangers
	reached    atomic.Bool  // a client has sent something to a master
	seen       atomic.Int64 // the latest time that now returned (ns)
	deathsAt   atomic.Int64 // when recordDeaths was called last (ns)

	mu          sync.Mutex
	interrupted bool
	ended       bool
	failure     error // error of the harness in a goroutine
	redisKeys   redisKeys
}

var (
	errTimeLimit  = errors.New("the time limit")
	errViolation  = errors.New("a violation was found")
	errEnough     = errors.New("the run had the evidence that it was to have")
	errUnmodelled = errors.New("the lock sent a command that simulated masters do not know")
)

// run records everything from the first operation to the end mark.
func (c *campaign) run() error {
	if err := errors.Join(c.runStages(), c.failed()); err != nil {
		return err
	}
	c.end()
	return nil
}

// runStages lets the clients work while the nemesis injects faults, waits until all faults have healed, and
// makes every client acquire every key.
func (c *campaign) runStages() (err error) {
	s := c.s
	lock := lockOf(&s, c.hello)
	from, to, _ := s.HoldRange()
	if s.UsesProcesses() {
		lock = c.asProcesses(lock)
	}
	var usages []workload.Usage
	for _, u := range s.Usage {
		usages = append(usages, workload.Usage(u))
	}
	c.nameKeys()
	c.openAccount()
	if c.sim == nil || c.opt.Lint {
		if c.lint, err = NewLint(len(c.masters.Masters()), lock.Quorum(s.Masters), c.start); err != nil {
			return err
		}
	}
	w, err := workload.New(workload.Config{
		KeyPrefix: c.keyPrefix,
		Permits:   permitsOf(&s), Readers: cmp.Or(s.Readers, workload.DefaultReaders),
		Wait: s.Wait, Protocol: s.Resource, Lock: lock, Clients: s.Clients, Keys: s.Keys, TTL: s.TTL, TTLs: s.ClientTTL, Timeout: s.Timeout, HoldMin: from, HoldMax: to, OwnPanic: world.Raised,
		LongHolds: s.LongHolds, Extend: s.Extend, Usages: usages, Processes: s.UsesProcesses(), Think: 50 * time.Millisecond, Arrivals: s.Arrivals, AcquireTimeout: min(3*s.TTL, max(3*longTTL, s.TimeLimit)) + time.Second, Fencing: s.Fencing, Seed: s.Seed, Source: c.opt.Source,
	}, c.runtime, c.recorder, c.start, c.clientEnv)
	if err != nil {
		return err
	}
	c.work.Store(w)
	defer func() { err = errors.Join(err, w.Err(), w.Close()) }()
	if err := w.Open(); err != nil {
		return err
	}
	running, cancel := c.runtime.WithCancelCause(context.Background())
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	c.nemesis = nemesis.New(nemesis.Env{
		Cluster: c.masters, Clients: workload.Clients(s.Clients), Keys: c.keysToInspect(), KeyPrefix: c.keyPrefix, Pauses: w.Pauses,
		Runtime: c.runtime, History: c.recorder, Start: c.start, TTL: s.TTL, Seed: s.Seed, Source: c.opt.Source,
		Fill: 4 * s.MaxMemory, RestartDelay: s.RestartDelay, Running: running,
	})

	working, stop := c.runtime.WithCancelCause(running)
	c.runtime.AfterFunc(s.TimeLimit, func() { stop(errTimeLimit) })
	c.endUnmodelled(func() { stop(errUnmodelled) })
	c.recorder.Observe(c.noteRedisKey)
	c.refuseIgnorant()
	shown, hide := c.runtime.WithCancelCause(context.Background())
	defer hide(nil)
	if s.StopOnViolation {
		c.stopOnViolation(shown, func() { stop(errViolation) })
	}
	c.stopWithEvidence(lock.Kind, func() { stop(errEnough) })
	real := !c.virtual
	if real {
		defer context.AfterFunc(c.outer, c.interrupt)()
		c.runtime.Go(func() { c.heartbeat(shown) })
		reported := make(chan struct{})
		defer func() { hide(nil); <-reported }() // no progress is shown after the verdict
		c.runtime.Go(func() { defer close(reported); c.reportProgress(shown, working) })
	} else {
		c.runtime.Go(func() { c.pollInterrupt(shown, working) })
	}
	settled := c.followMasters(shown, real)
	defer func() { hide(nil); settled() }()

	// The nemesis stops first and heals its faults while the clients still work: a stopped client must
	// continue, or the workload would never end.
	injecting, done := c.runtime.WithCancelCause(context.Background())
	c.runtime.Go(func() {
		defer done(errTimeLimit)
		c.runNemesis(working)
	})
	w.Run(working)
	for c.runtime.Sleep(injecting, time.Hour) == nil {
	}
	if running.Err() != nil {
		return nil // the recorded evidence counts; there is no time for more
	}
	bound := c.waitBound()
	c.opt.Progress("all faults have healed; every client visits every key")
	if c.recordHealed(running, bound) {
		visiting, stop := c.runtime.WithCancelCause(running)
		c.stopVisits.Store(&stop)
		c.visiting.Store(true)
		w.FinalCheck(visiting, bound)
	}
	return nil
}

// followMasters records, until shown ends, what the masters store and, if they are real, do. settled returns, once shown
// has ended, when every exchange has its votes.
func (c *campaign) followMasters(shown context.Context, real bool) (settled func()) {
	c.runtime.Go(func() { c.observeMasters(shown, real) })
	settled = func() {}
	if real && c.account != nil {
		swept := make(chan struct{})
		settled = func() { <-swept } // before the end mark
		c.runtime.Go(func() { defer close(swept); c.sweepAccount(shown) })
	}
	if real {
		c.runtime.Go(func() { c.watchDeaths(shown) })
	}
	return settled
}

// runNemesis runs the nemesis until ctx ends and all faults have healed.
func (c *campaign) runNemesis(ctx context.Context) {
	s := c.s
	plan := nemesis.Plan{
		Faults: s.Faults, Targets: s.Targets, Interval: s.Interval, Length: s.TimeLimit, Points: s.Resource.Points(),
		Clock: s.Clock, ClientClock: s.WantedClientClock(), Delay: s.FsyncDelay, Strict: s.Strict, Torn: s.Torn,
		Outage: s.Outage, SplitBrain: s.SplitBrain,
	}
	if plan.Interval == 0 {
		plan.Interval = s.TTL
	}
	if s.Service != nil && len(plan.Targets) == 0 {
		plan.Targets = []string{nemesis.One, nemesis.Minority, nemesis.Majority}
		if s.Service.Leader.Given() {
			plan.Targets = append(plan.Targets, nemesis.Leader)
		}
	}
	switch s.NemesisName() {
	case "schedule":
		c.nemesis.Schedule(ctx, s.Schedule)
	case scenario.Random:
		c.nemesis.Random(ctx, plan)
	case scenario.Guided:
		c.nemesis.Guided(ctx, plan)
	}
}

// longTTL is a TTL that runs do not wait for, if nothing makes a client wait that long.
const longTTL = time.Minute

// waitBound returns how long a free lock may take to be granted after all faults have healed: the rest of an
// earlier lease and every client's turn with some retries; with a queue, also the time that the lock waits
// for each waiter that is gone.
func (c *campaign) waitBound() time.Duration {
	lock := lockOf(&c.s, c.hello)
	ttl := c.s.TTL
	if len(c.s.FaultNames()) == 0 { // every lease was released: none has to end by itself, which could take days
		ttl = min(ttl, longTTL)
	}
	bound := checker.Patience(c.s.Clients, c.s.Keys, ttl) + c.clockSkew() + time.Duration(c.s.Clients)*lock.DeadWaiter
	if c.s.Service != nil {
		bound += c.s.Service.SettleTime()
	}
	return bound
}

// clockSkew returns the largest offset of a clock that a fault changed: a key stored under it may live longer
// by that time after the clock is corrected.
func (c *campaign) clockSkew() time.Duration {
	most := time.Duration(0)
	for _, text := range append(c.nemesis.Clocks(), c.s.Clock) {
		if clock, _, err := nemesis.ParseClock(text); err == nil {
			most = max(most, clock.Offset.Abs())
		}
	}
	return most
}

// recordHealed records that all faults have ended, and which masters do not answer. It returns whether a
// majority is available.
func (c *campaign) recordHealed(ctx context.Context, bound time.Duration) bool {
	var gone []string
	for _, m := range c.masters.Masters() {
		looking, cancel := c.within(ctx, 2*time.Second)
		if _, err := m.Inspect(looking, nil); err != nil {
			gone = append(gone, m.Name())
		}
		cancel()
	}
	if ctx.Err() != nil {
		return false // interrupted: the checks failed because they were cancelled
	}
	op := history.Op{Process: history.Nemesis, Type: history.Info, F: history.FHealed, Value: &history.Value{Bound: bound, Masters: gone}}
	lock := lockOf(&c.s, c.hello)
	majority := len(gone) < c.s.Masters/2+1 && !(lock.Masters == workload.OneMaster && slices.Contains(gone, "m1"))
	if !majority {
		op.Type, op.Error = history.Fail, fmt.Sprintf("%v never came back: no majority of masters is left", gone)
	}
	c.recorder.Record(op)
	return majority
}

// The heartbeat sleeps for the time heartbeat, and records a stall if that takes longer by more than stalled:
// commands then time out because the machine is too slow, and not because of masters.
const (
	heartbeat = 20 * time.Millisecond
	stalled   = 30 * time.Millisecond
)

func (c *campaign) heartbeat(ctx context.Context) {
	for before := c.now(); c.runtime.Sleep(ctx, heartbeat) == nil; before = c.now() {
		if late := c.now() - before - heartbeat; late > stalled {
			c.recorder.Record(history.Op{Process: history.Harness, Type: history.Info, F: history.FStall, Value: &history.Value{Took: late}})
		}
	}
}

// within returns a context that ends after d on the runtime's clock, and a function that ends it at once.
func (c *campaign) within(ctx context.Context, d time.Duration) (context.Context, func()) {
	ctx, end := c.runtime.WithCancelCause(ctx)
	stop := c.runtime.AfterFunc(d, func() { end(fmt.Errorf("no answer within %v", d)) })
	return ctx, func() { stop(); end(nil) }
}
