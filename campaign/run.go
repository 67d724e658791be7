package campaign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/cluster/resp"
	"lockpick/cluster/sim"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/redlock/protocol"
	"lockpick/workload"
)

// Options are the options of a run, in addition to its scenario.
type Options struct {
	Store    Store
	Progress func(format string, args ...any) // called with a line for each step that takes long; may be nil
	Live     func(Status)                     // called a few times a second while the clients work; may be nil
	Client   []string                         // the command that runs as a client process, such as lockpick client

	slow  func(io.Writer) io.Writer // for tests: the history is written through it
	ahead func() time.Duration      // for tests: the machine's clock beside the monotonic one; nil: wallAhead
}

// Status is the progress of a run.
type Status struct {
	Stage      string // working, healing, visiting
	Elapsed    time.Duration
	Limit      time.Duration
	Granted    int
	Faults     []string // that are installed now
	Violations int
}

// Run runs a scenario and returns its folder in the store, its history and its result. The end
// of ctx interrupts the run: Run records that before it cancels anything, heals the faults,
// removes the masters, and judges what was recorded. Errors that are not about the scenario are
// *judge.HarnessError.
func Run(ctx context.Context, s scenario.Scenario, opt Options) (dir string, h *history.History, r *judge.Result, err error) {
	if err := s.Check(); err != nil {
		return "", nil, nil, err
	}
	s = s.WithRequirements()
	if opt.Progress == nil {
		opt.Progress = func(string, ...any) {}
	}
	driver, why, err := ChooseDriver(ctx, s.Driver, s.Image)
	if err == nil && s.Driver == scenario.Auto && driver.Name == scenario.Sim && s.Connects() {
		driver, why, err = ChooseDriver(ctx, scenario.Virtual, s.Image)
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
	yaml, err := s.YAML()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, judge.ScenarioFile), yaml, 0o644)
	}
	if err != nil {
		return dir, nil, nil, &judge.HarnessError{Err: err}
	}
	if err := execute(ctx, s, driver, dir, string(yaml), started, opt); err != nil {
		return dir, nil, nil, &judge.HarnessError{Err: err}
	}
	opt.Progress("judging the history")
	h, r, err = judge.ForReport(filepath.Join(dir, judge.HistoryFile))
	if err != nil {
		return dir, h, nil, &judge.HarnessError{Err: err}
	}
	if err := judge.WriteResult(dir, r); err != nil {
		return dir, h, r, &judge.HarnessError{Err: err}
	}
	return dir, h, r, nil
}

// execute does everything up to the last operation of the history.
func execute(ctx context.Context, s scenario.Scenario, driver Driver, dir, yaml string, started time.Time, opt Options) (err error) {
	logging.Disable() // go-redis would log every refused connection, which the votes show already
	cfg := s.Config()
	cfg.Image, cfg.LogDir, cfg.Progress = s.Image, filepath.Join(dir, mastersDir), opt.Progress
	c := &campaign{s: s, outer: ctx, opt: opt, dir: dir}
	c.runtime = realTime{panicked: c.fail}
	run := func(f func() error) error { return f() }
	switch {
	case driver.Within != nil:
		c.enacted = true
		c.opt.Live = nil // it would measure virtual time
		run = func(f func() error) error {
			return driver.Within(cfg, s.Seed, func(masters cluster.Cluster) error {
				c.masters = masters
				return f()
			})
		}
	case driver.Start == nil:
		world := sim.NewWorld(s.Seed)
		if err := c.simulated(world, cfg); err != nil {
			return err
		}
		started = sim.Epoch
		run = func(f func() error) error { return c.inWorld(world, f) }
	default:
		for _, gone := range sweepOthers(ctx, driver.Name) {
			opt.Progress("removed what a dead harness left: %s", gone)
		}
		if c.masters, err = driver.Start(ctx, cfg); err != nil {
			return err
		}
	}
	if !c.enacted { // those are closed where they are made
		defer func() {
			if !c.frozen.Load() { // only the goroutines of the world may touch it
				err = errors.Join(err, c.masters.Close())
			}
		}()
		if err := c.masters.Shim(); err != nil && s.Needs(fault.Shim) {
			opt.Progress("some faults will be skipped: %v", err)
		}
	}

	file, err := os.Create(filepath.Join(dir, judge.HistoryFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	c.file, _ = file.Stat() // nil: not known
	out := io.Writer(file)
	if opt.slow != nil {
		out = opt.slow(out)
	}
	if c.world != nil { // with the seed, a new run repeats what a killed harness had not written
		buffer := bufio.NewWriterSize(file, 1<<16)
		defer func() { err = errors.Join(err, buffer.Flush()) }()
		out = buffer
	}
	if s.UsesProcesses() {
		if err := os.MkdirAll(filepath.Join(dir, clientsDir), 0o755); err != nil {
			return err
		}
	}
	if err := c.meet(false); err != nil {
		return err
	}
	return run(func() error {
		c.start = c.runtime.Now()
		recorder, err := history.NewRecorder(out, headerOf(&s, c.masters, c.hello, yaml, started), c.now)
		if err != nil {
			return err
		}
		c.recorder = recorder
		c.observe()
		return errors.Join(c.run(), c.recorder.Err())
	})
}

// headerOf returns the header of the history.
func headerOf(s *scenario.Scenario, masters cluster.Cluster, hello workload.Hello, yaml string, started time.Time) history.Header {
	lock := lockOf(s, hello)
	versions := map[string]string{"redis": masters.Version(), "lockpick": Version()}
	if masters.Driver() != scenario.Sim { // the same seed must give the same bytes with every version of Go
		versions["go"] = runtime.Version()
	}
	if hello.Library != "" {
		versions["library"] = hello.Library
	}
	guarded := ""
	if s.Resource.Compares() {
		guarded = string(s.Resource)
	}
	return history.Header{
		Name: s.Name, Started: started.UTC(), Seed: s.Seed, Driver: masters.Driver(), Lock: s.Lock, Masters: s.Masters, Quorum: lock.Quorum(s.Masters),
		Persistence: s.Persistence, Clients: s.Clients, Keys: s.Keys, TTL: s.TTL, Fencing: s.Fencing, Resource: guarded,
		Duplicates: s.Network.Duplicate > 0, DeadWaiter: lock.DeadWaiter, HungHolder: lock.HungHolder(s.TTL, s.Timeout), Faults: s.FaultNames(), Properties: s.Properties,
		Nemesis: s.NemesisName(), Scenario: yaml,
		Client: s.Client, Until: until(s.RunsCommand(), hello),
		Versions: versions,
	}
}

// campaign is one run.
type campaign struct {
	s          scenario.Scenario
	dir        string         // of the run
	file       os.FileInfo    // of the history
	client     []string       // the command that runs as each client; empty: Lockpick's own
	hello      workload.Hello // its description of itself, for a command of the user
	scripts    resp.Scripts   // that clients sent
	masters    cluster.Cluster
	world      *sim.Cluster                          // the same, if they are simulated
	source     func(seed, stream uint64) rand.Source // of what clients and the nemesis draw; nil: the usual
	enacted    bool                                  // masters in memory and virtual time, but not those of the simulator
	runtime    protocol.Runtime
	start      time.Time       // start of the run, on the runtime's clock
	outer      context.Context // its end interrupts the run
	recorder   *history.Recorder
	nemesis    *nemesis.Nemesis
	watch      checker.Watch
	violations atomic.Int64 // what was not found by the observers of the history
	granted    atomic.Int64
	visiting   atomic.Bool // the final acquisitions have begun
	stopVisits atomic.Pointer[context.CancelCauseFunc]
	opt        Options
	cancel     context.CancelCauseFunc // ends everything that the run does
	work       atomic.Pointer[workload.Workload]
	reached    atomic.Bool  // a client has sent something to a master
	seen       atomic.Int64 // the latest time of the run that was read (ns)
	frozen     atomic.Bool  // the simulated world was abandoned: its time stands still

	mu          sync.Mutex
	interrupted bool
	ended       bool
	failure     error // of the harness, in a goroutine
	blind       bool  // votes on some connection could not be read
	redisKeys   redisKeys
}

var (
	errTimeLimit = errors.New("the time limit")
	errViolation = errors.New("a violation was found")
)

// run records everything from the first operation to the end mark.
func (c *campaign) run() error {
	if err := errors.Join(c.runStages(), c.failed()); err != nil {
		return err
	}
	c.end()
	return nil
}

// runStages lets the clients work while the nemesis injects faults, waits until all faults have
// healed, and makes every client acquire every key.
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
	w, err := workload.New(workload.Config{
		Wait: s.Wait, Protocol: s.Resource, Lock: lock, Clients: s.Clients, Keys: s.Keys, TTL: s.TTL, TTLs: s.ClientTTL, Timeout: s.Timeout, HoldMin: from, HoldMax: to, OwnPanic: sim.Raised,
		LongHolds: s.LongHolds, Extend: s.Extend, Usages: usages, Processes: s.UsesProcesses(), Think: 50 * time.Millisecond, Arrivals: s.Arrivals, AcquireTimeout: 3*s.TTL + time.Second, Fencing: s.Fencing, Seed: s.Seed, Source: c.source,
	}, c.runtime, c.recorder, c.start, c.clientEnv)
	if err != nil {
		return err
	}
	c.work.Store(w)
	defer func() { err = errors.Join(err, w.Err(), w.Close()) }()
	if err := w.Open(); err != nil {
		return err
	}
	c.nemesis = nemesis.New(nemesis.Env{
		Cluster: c.masters, Clients: workload.Clients(s.Clients), Keys: c.keysToInspect(), Pauses: w.Pauses,
		Runtime: c.runtime, History: c.recorder, Start: c.start, TTL: s.TTL, Seed: s.Seed, Source: c.source,
		Fill: 4 * s.MaxMemory,
	})

	running, cancel := c.runtime.WithCancelCause(context.Background())
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	working, stop := c.runtime.WithCancelCause(running)
	c.runtime.AfterFunc(s.TimeLimit, func() { stop(errTimeLimit) })
	c.recorder.Observe(c.noteRedisKey)
	c.refuseIgnorant()
	shown, hide := c.runtime.WithCancelCause(context.Background())
	defer hide(nil)
	if s.StopOnViolation {
		c.stopOnViolation(shown, func() { stop(errViolation) })
	}
	real := c.world == nil && !c.enacted
	if real {
		defer context.AfterFunc(c.outer, c.interrupt)()
		c.runtime.Go(func() { c.heartbeat(shown) })
		reported := make(chan struct{})
		defer func() { hide(nil); <-reported }() // nothing is drawn over the verdict
		c.runtime.Go(func() { defer close(reported); c.reportProgress(shown, working) })
	} else {
		c.runtime.Go(func() { c.pollInterrupt(shown, working) })
	}
	c.runtime.Go(func() { c.observeMasters(shown) })
	if real {
		c.runtime.Go(func() { c.watchDeaths(shown) })
	}

	// The nemesis stops first and heals its faults while the clients still work: a client that
	// it has stopped must continue, or the workload would never end.
	struck, done := c.runtime.WithCancelCause(context.Background())
	c.runtime.Go(func() {
		defer done(errTimeLimit)
		c.runNemesis(working)
	})
	w.Run(working)
	for c.runtime.Sleep(struck, time.Hour) == nil {
	}
	if running.Err() != nil {
		return nil // the evidence so far counts; there is no time for more
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

// asProcesses turns a lock into one whose clients are processes: this program as lockpick
// client, unless the options name another command.
func (c *campaign) asProcesses(lock workload.Kind) workload.Kind {
	lock.New = func(s workload.Env) (workload.Lock, error) { return StartClient(c.command(), s) }
	return lock
}

// clientEnv returns the environment of a client.
func (c *campaign) clientEnv(client string) (workload.Env, error) {
	var s workload.Env
	if c.world != nil {
		s.Masters = c.world.ClientMasters(client)
		if err := c.placeClient(client); err != nil {
			return s, err
		}
		return s, nil
	}
	var links []cluster.Link
	for i := range c.masters.Masters() {
		link, err := c.masters.Link(client, i)
		if err != nil {
			return s, err
		}
		links = append(links, link)
		s.Addrs = append(s.Addrs, link.Addr())
	}
	if d, ok := c.masters.(dialer); ok {
		s.Dial = d.DialContext
	}
	if !c.enacted && (c.s.RunsCommand() || c.s.Connects()) {
		s.Observe = c.observed(links)
	}
	return s, nil
}

// placeClient places a client near some of the simulated masters: the first client near the
// first of them, and so on in turn.
func (c *campaign) placeClient(client string) error {
	if c.s.Network.Apart == 0 {
		return nil
	}
	at := slices.Index(workload.Clients(c.s.Clients), client)
	for i := range c.masters.Masters() {
		link, err := c.masters.Link(client, i)
		if err != nil {
			return err
		}
		if i%c.s.Clients != at {
			link.Set(cluster.LinkFault{Delay: c.s.Network.Apart})
		}
	}
	return nil
}

// runNemesis runs the nemesis until ctx ends and all faults have healed.
func (c *campaign) runNemesis(ctx context.Context) {
	s := c.s
	plan := nemesis.Plan{
		Faults: s.Faults, Targets: s.Targets, Interval: s.Interval, Length: s.TimeLimit, RestartDelay: s.RestartDelay, Points: s.Resource.Points(),
		Clock: s.Clock, ClientClock: s.WantedClientClock(), Delay: s.FsyncDelay, Strict: s.Strict, Torn: s.Torn,
		Outage: s.Outage, SplitBrain: s.SplitBrain,
	}
	if plan.Interval == 0 {
		plan.Interval = s.TTL
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

// waitBound is how long a free lock may take to be granted after all faults have healed: the
// rest of an earlier lease and every client's turn with some retries; with a queue, also the
// time that the lock waits for each waiter that is gone.
func (c *campaign) waitBound() time.Duration {
	lock, _ := workload.LockNamed(c.s.Lock)
	return checker.Patience(c.s.Clients, c.s.Keys, c.s.TTL) + c.clockSkew() + time.Duration(c.s.Clients)*lock.DeadWaiter
}

// clockSkew is by how much a clock was wrong that was corrected: a key that was stored then
// lives longer by that time.
func (c *campaign) clockSkew() time.Duration {
	most := time.Duration(0)
	for _, text := range append(c.nemesis.Clocks(), c.s.Clock) {
		if clock, _, err := nemesis.ParseClock(text); err == nil {
			most = max(most, clock.Offset.Abs())
		}
	}
	return most
}

// recordHealed records that all faults have ended, and whether a majority of masters is
// available.
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
		return false // interrupted: the snapshots failed because they were cancelled
	}
	op := history.Op{Process: history.Nemesis, Type: history.Info, F: history.FHealed, Value: &history.Value{Bound: bound, Masters: gone}}
	lock := lockOf(&c.s, c.hello)
	majority := len(gone) < c.s.Masters/2+1 && !(lock.First && slices.Contains(gone, "m1"))
	if !majority {
		op.Type, op.Error = history.Fail, fmt.Sprintf("%v never came back: no majority of masters is left", gone)
	}
	c.recorder.Record(op)
	return majority
}

// pollInterrupt interrupts a run in virtual time. Nothing from outside may disturb virtual
// time, so it polls whether the outer context has ended. It also reports progress, in all runs
// alike, because reporting must not change what happens.
func (c *campaign) pollInterrupt(ctx, working context.Context) {
	for c.runtime.Sleep(ctx, 100*time.Millisecond) == nil {
		c.showStatus(working)
		if c.outer.Err() != nil {
			c.interrupt()
			return
		}
	}
}

// The heartbeat sleeps for the time heartbeat, and records a stall if that takes longer by
// stalled: then commands time out because the machine is too slow, and not because of masters.
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

// within returns a context that ends after d on the runtime's clock.
func (c *campaign) within(ctx context.Context, d time.Duration) (context.Context, func()) {
	ctx, end := c.runtime.WithCancelCause(ctx)
	stop := c.runtime.AfterFunc(d, func() { end(fmt.Errorf("no answer within %v", d)) })
	return ctx, func() { stop(); end(nil) }
}
