package campaign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/cluster/sim"
	"lockpick/history"
	"lockpick/nemesis"
	"lockpick/redlock"
	"lockpick/workload"
	"lockpick/workload/remote"
)

// Options is how a run is run, beside what its scenario says.
type Options struct {
	Store    Store
	Progress func(format string, args ...any) // what takes long, a line each; may be nil
	Live     func(Status)                     // called a few times a second while the clients work; may be nil
	Client   []string                         // the command that is a client process, such as lockpick client
}

// Status is how a run is getting on.
type Status struct {
	Stage      string // working, healing, visiting
	Elapsed    time.Duration
	Limit      time.Duration
	Granted    int
	Faults     []string // that are installed now
	Violations int
}

// Run runs a scenario and returns its folder in the store, its history and what it
// concluded. The end of ctx interrupts the run: that is recorded before anything is
// cancelled, then faults heal, masters are removed, and what was recorded is judged.
// Errors that are not about the scenario are *HarnessError.
func Run(ctx context.Context, s Scenario, opt Options) (dir string, h *history.History, r *Result, err error) {
	if err := s.Check(); err != nil {
		return "", nil, nil, err
	}
	s = s.Completed()
	if opt.Progress == nil {
		opt.Progress = func(string, ...any) {}
	}
	driver, why, err := chooseDriver(ctx, s.Driver, s.Image)
	if err != nil {
		return "", nil, nil, &HarnessError{err}
	}
	opt.Progress("%s", why)
	started := time.Now()
	run, err := opt.Store.create(s.Name, started)
	if err != nil {
		return "", nil, nil, &HarnessError{err}
	}
	dir = filepath.Join(opt.Store.Dir, run)
	yaml, err := s.YAML()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ScenarioFile), yaml, 0o644)
	}
	if err != nil {
		return dir, nil, nil, &HarnessError{err}
	}
	if err := execute(ctx, s, driver, dir, string(yaml), started, opt); err != nil {
		return dir, nil, nil, &HarnessError{err}
	}
	opt.Progress("judging the history")
	h, r, err = JudgeFile(filepath.Join(dir, HistoryFile))
	if err != nil {
		return dir, h, nil, &HarnessError{err}
	}
	if err := WriteResult(dir, r); err != nil {
		return dir, h, r, &HarnessError{err}
	}
	return dir, h, r, nil
}

// execute is everything up to the last operation of the history.
func execute(ctx context.Context, s Scenario, driver Driver, dir, yaml string, started time.Time, opt Options) (err error) {
	logging.Disable() // go-redis would tell of every refused dial; the votes already do
	cfg := s.config()
	cfg.Image, cfg.LogDir, cfg.Progress = s.Image, filepath.Join(dir, mastersDir), opt.Progress
	c := &campaign{s: s, outer: ctx, opt: opt}
	c.runtime = realTime{panicked: c.fail}
	run := func(f func() error) error { return f() }
	if driver.Start == nil {
		world := sim.NewWorld(s.Seed)
		if err := c.simulated(world, cfg); err != nil {
			return err
		}
		started = sim.Epoch
		run = func(f func() error) error { return c.inWorld(world, f) }
	} else if c.masters, err = driver.Start(ctx, cfg); err != nil {
		return err
	}
	defer func() {
		if !c.frozen.Load() { // nobody but the world itself may touch it
			err = errors.Join(err, c.masters.Close())
		}
	}()
	if err := c.masters.Shim(); err != nil && slices.ContainsFunc(s.FaultNames(), needsShim) {
		opt.Progress("some faults will be skipped: %v", err)
	}

	file, err := os.Create(filepath.Join(dir, HistoryFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := io.Writer(file)
	if c.world != nil { // the seed can tell again what a killed harness had not written
		buffer := bufio.NewWriterSize(file, 1<<16)
		defer func() { err = errors.Join(err, buffer.Flush()) }()
		out = buffer
	}
	return run(func() error {
		c.start = c.runtime.Now()
		recorder, err := history.NewRecorder(out, s.header(c.masters, yaml, started), c.now)
		if err != nil {
			return err
		}
		c.recorder = recorder
		c.observe()
		return errors.Join(c.run(), c.recorder.Err())
	})
}

// config is what the masters are, whoever runs them.
func (s *Scenario) config() cluster.Config {
	return cluster.Config{
		Masters: s.Masters, Persistence: cluster.Persistence(s.Persistence),
		MaxMemory: s.MaxMemory, Eviction: cluster.Eviction(s.Eviction), Replicas: s.Replicas,
	}
}

// observe has what is recorded watched and counted.
func (c *campaign) observe() {
	c.recorder.Observe(c.watch.Observe)
	c.recorder.Observe(func(op history.Op) {
		if op.F == history.FAcquire && op.Type == history.OK {
			c.granted.Add(1)
		}
	})
}

func needsShim(fault string) bool {
	kind, _ := nemesis.KindNamed(fault)
	return kind.Needs == "shim"
}

// header is what the history says of itself.
func (s *Scenario) header(masters cluster.Cluster, yaml string, started time.Time) history.Header {
	lock, _ := workload.LockNamed(s.Lock)
	versions := map[string]string{"redis": masters.Version(), "lockpick": Version()}
	if masters.Driver() != Sim { // there the same seed makes the same bytes, whatever Go built this
		versions["go"] = runtime.Version()
	}
	guarded := ""
	if s.Resource.Compares() {
		guarded = string(s.Resource)
	}
	return history.Header{
		Name: s.Name, Started: started.UTC(), Seed: s.Seed, Driver: masters.Driver(), Lock: s.Lock, Masters: s.Masters, Quorum: lock.Quorum(s.Masters),
		Persistence: s.Persistence, Clients: s.Clients, Keys: s.Keys, TTL: s.TTL, Fencing: s.Fencing, Resource: guarded,
		Duplicates: s.Network.Duplicate > 0, Faults: s.FaultNames(), Properties: s.Properties,
		Nemesis: s.NemesisName(), Scenario: yaml,
		Versions: versions,
	}
}

// Version is Lockpick's own, as far as the build knows it.
func Version() string { return version() }

var version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
})

// campaign is one run while it runs.
type campaign struct {
	s          Scenario
	masters    cluster.Cluster
	world      *sim.Cluster // the same, if they are simulated
	runtime    redlock.Runtime
	start      time.Time       // of the run, on the runtime's clock
	outer      context.Context // whose end interrupts the run
	recorder   *history.Recorder
	nemesis    *nemesis.Nemesis
	watch      checker.Watch
	granted    atomic.Int64
	visiting   atomic.Bool // the final acquisitions are under way
	stopVisits atomic.Pointer[context.CancelCauseFunc]
	opt        Options
	cancel     context.CancelCauseFunc // ends all that the run does
	work       atomic.Pointer[workload.Workload]
	seen       atomic.Int64 // the run's time, when it was last asked for (ns)
	frozen     atomic.Bool  // the simulated world was given up: its time stands still

	mu          sync.Mutex
	interrupted bool
	ended       bool
	failure     error // of the harness, in a goroutine
	redisKeys   redisKeys
}

var (
	errTimeLimit = errors.New("the time limit")
	errViolation = errors.New("a violation was found")
)

// run records everything from the first operation to the end mark.
func (c *campaign) run() error {
	if err := errors.Join(c.stages(), c.failed()); err != nil {
		return err
	}
	c.end()
	return nil
}

// stages lets the clients work while the nemesis strikes, has all faults heal, and has
// every client visit every key.
func (c *campaign) stages() (err error) {
	s := c.s
	lock, _ := workload.LockNamed(s.Lock)
	from, to, _ := s.hold()
	if s.ClientsAs == Processes {
		lock = c.asProcesses(lock)
	}
	w, err := workload.New(workload.Config{
		Wait: s.Wait, Protocol: s.Resource, Lock: lock, Clients: s.Clients, Keys: s.Keys, TTL: s.TTL, TTLs: s.ClientTTL, Timeout: s.Timeout, HoldMin: from, HoldMax: to, OwnPanic: sim.Raised,
		LongHolds: s.LongHolds, Extend: s.Extend, Think: 50 * time.Millisecond, AcquireTimeout: 3*s.TTL + time.Second, Fencing: s.Fencing, Seed: s.Seed,
	}, c.runtime, c.recorder, c.start, c.site)
	if err != nil {
		return err
	}
	c.work.Store(w)
	defer func() { err = errors.Join(err, w.Err(), w.Close()) }()
	c.nemesis = nemesis.New(nemesis.Env{
		Cluster: c.masters, Clients: workload.Clients(s.Clients), Keys: c.lookedAt(), Pauses: w.Pauses,
		Runtime: c.runtime, History: c.recorder, Start: c.start, TTL: s.TTL, Seed: s.Seed,
		Fill: 4 * s.MaxMemory,
	})

	running, cancel := c.runtime.WithCancelCause(context.Background())
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	working, stop := c.runtime.WithCancelCause(running)
	c.runtime.AfterFunc(s.TimeLimit, func() { stop(errTimeLimit) })
	stopping := false // guarded by the recorder
	if s.StopOnViolation {
		c.recorder.Observe(func(op history.Op) {
			// Not at once: clients that are told to stop release, and in virtual time that
			// would be the very instant at which the violation began.
			if c.watch.Violations() > 0 && !stopping {
				stopping = true
				c.runtime.AfterFunc(100*time.Millisecond, func() { stop(errViolation) })
			}
		})
	}
	c.recorder.Observe(c.learn)
	shown, hide := c.runtime.WithCancelCause(context.Background())
	defer hide(nil)
	if c.world == nil {
		defer context.AfterFunc(c.outer, c.interrupt)()
		c.runtime.Go(func() { c.heartbeat(shown) })
		c.runtime.Go(func() { c.tell(shown, working) })
	} else {
		c.runtime.Go(func() { c.pollInterrupt(shown, working) })
	}
	c.runtime.Go(func() { c.lookAround(shown) })
	if c.world == nil {
		c.runtime.Go(func() { c.watchDeaths(shown) })
	}

	// The nemesis stops first and heals what it did while the clients still work:
	// a client that it had stopped must go on, or the workload would never end.
	struck, done := c.runtime.WithCancelCause(context.Background())
	c.runtime.Go(func() {
		defer done(errTimeLimit)
		c.strike(working)
	})
	w.Run(working)
	for c.runtime.Sleep(struck, time.Hour) == nil {
	}
	if running.Err() != nil {
		return nil // the evidence so far counts; there is no time for more
	}
	bound := c.bound()
	c.opt.Progress("all faults have healed; every client visits every key")
	if c.healed(running, bound) {
		visiting, stop := c.runtime.WithCancelCause(running)
		c.stopVisits.Store(&stop)
		c.visiting.Store(true)
		w.Visit(visiting, bound)
	}
	return nil
}

// asProcesses makes of a lock one whose clients are processes: this very program, as
// lockpick client, unless the options name another.
func (c *campaign) asProcesses(lock workload.Kind) workload.Kind {
	inner := lock.Name
	lock.New = func(s workload.Site) (workload.Lock, error) { return remote.Start(c.opt.Client, inner, s) }
	return lock
}

// site is how a client reaches the masters.
func (c *campaign) site(client string) (workload.Site, error) {
	var s workload.Site
	if c.world != nil {
		s.Masters = c.world.ClientMasters(client)
		if err := c.place(client); err != nil {
			return s, err
		}
		return s, nil
	}
	for i := range c.masters.Masters() {
		link, err := c.masters.Link(client, i)
		if err != nil {
			return s, err
		}
		s.Addrs = append(s.Addrs, link.Addr())
	}
	return s, nil
}

// place puts a client near to some of the simulated masters: the first of them to the
// first client, and so on in turn.
func (c *campaign) place(client string) error {
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

// strike lets the nemesis loose until ctx ends and all has healed.
func (c *campaign) strike(ctx context.Context) {
	s := c.s
	plan := nemesis.Plan{
		Faults: s.Faults, Targets: s.Targets, Interval: s.Interval, Length: s.TimeLimit, RestartDelay: s.RestartDelay, Points: s.Resource.Points(),
		Clock: s.Clock, ClientClock: s.clientClock(), Delay: s.FsyncDelay, Strict: s.Strict, Torn: s.Torn,
		Outage: s.Outage, SplitBrain: s.SplitBrain,
	}
	if plan.Interval == 0 {
		plan.Interval = s.TTL
	}
	switch s.NemesisName() {
	case "schedule":
		var steps []nemesis.Step
		for _, step := range s.Schedule {
			steps = append(steps, step.nemesis())
		}
		c.nemesis.Schedule(ctx, steps)
	case Random:
		c.nemesis.Random(ctx, plan)
	case Guided:
		c.nemesis.Guided(ctx, plan)
	}
}

// clientClock is what the fault client-clock does; empty: drawn.
func (s *Scenario) clientClock() string {
	if s.ClientRate > 0 {
		return "x" + strconv.FormatFloat(s.ClientRate, 'g', -1, 64)
	}
	return s.ClientClock
}

// bound is how long a free lock may take to be granted once all has healed: what is
// left of a lease of before, and every client's turn with some retries.
func (c *campaign) bound() time.Duration {
	return checker.Patience(c.s.Clients, c.s.Keys, c.s.TTL) + c.skew()
}

// skew is by how much a clock was off that has been set right: a key that was stored
// then lives for so much longer.
func (c *campaign) skew() time.Duration {
	most := time.Duration(0)
	for _, text := range append(c.nemesis.Clocks(), c.s.Clock) {
		if clock, _, err := nemesis.ParseClock(text); err == nil {
			most = max(most, clock.Offset.Abs())
		}
	}
	return most
}

// healed records that all faults have ended, and whether a majority of masters is
// there to acquire from.
func (c *campaign) healed(ctx context.Context, bound time.Duration) bool {
	var gone []string
	for _, m := range c.masters.Masters() {
		looking, cancel := c.within(ctx, 2*time.Second)
		if _, err := m.Look(looking, nil); err != nil {
			gone = append(gone, m.Name())
		}
		cancel()
	}
	if ctx.Err() != nil {
		return false // interrupted: the snapshots failed because they were cancelled
	}
	op := history.Op{Process: history.Nemesis, Type: history.Info, F: history.FHealed, Value: &history.Value{Bound: bound, Masters: gone}}
	lock, _ := workload.LockNamed(c.s.Lock)
	majority := len(gone) < c.s.Masters/2+1 && !(lock.First && slices.Contains(gone, "m1"))
	if !majority {
		op.Type, op.Error = history.Fail, fmt.Sprintf("%v never came back: no majority of masters is left", gone)
	}
	c.recorder.Record(op)
	return majority
}

// pollInterrupt interrupts a run in virtual time, which nothing from outside may disturb:
// it looks for the end of the outer context instead of being woken by it. It also reports
// progress, in all runs alike, because reporting must not change what happens.
func (c *campaign) pollInterrupt(ctx, working context.Context) {
	for c.runtime.Sleep(ctx, 100*time.Millisecond) == nil {
		c.live(working)
		if c.outer.Err() != nil {
			c.interrupt()
			return
		}
	}
}

// The heartbeat sleeps for heartbeat and tells of it when that takes stalled longer:
// then commands time out because the machine is too slow, not because masters are.
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

// lookAround asks the masters, past all links, what they store and what their clocks show: so
// often that a key is seen several times within its TTL, and at least once a second.
func (c *campaign) lookAround(ctx context.Context) {
	for c.runtime.Sleep(ctx, c.lookEvery()) == nil {
		keys := c.lookedAt()
		if keys != nil {
			keys = append(keys, c.learned()...)
		}
		for _, m := range c.masters.Masters() {
			looking, end := c.within(ctx, 200*time.Millisecond)
			asked := c.runtime.Now()
			look, err := m.Look(looking, keys)
			had := c.runtime.Now()
			end()
			if err != nil {
				continue // it is down or paused: its state is recorded by who made it so
			}
			// The answer was true somewhere between asking and hearing.
			offset := look.Time.Sub(asked.Add(had.Sub(asked) / 2)).Round(time.Microsecond)
			v := &history.Value{Expires: map[string]time.Duration{}, Offset: &offset, Took: had.Sub(asked)}
			if keys != nil {
				v.Keys = look.Keys
			}
			for key, end := range look.Expires {
				v.Expires[key] = end.Sub(c.start).Round(time.Microsecond)
			}
			c.recorder.RecordAt(history.Op{Process: m.Name(), Type: history.Info, F: history.FLook, Value: v}, had.Sub(c.start))
		}
	}
}

// lookEvery is the time between two looks at the masters: a quarter of the TTL, at most a
// second. Real masters have other things to do, too.
func (c *campaign) lookEvery() time.Duration {
	every := min(time.Second, c.s.TTL/4)
	if c.world == nil {
		every = max(every, 50*time.Millisecond)
	}
	return every
}

// lookedAt are the keys whose tokens masters can be asked for; nil: what they store is none.
func (c *campaign) lookedAt() []string {
	if lock, _ := workload.LockNamed(c.s.Lock); lock.Opaque {
		return nil
	}
	return workload.Keys(c.s.Keys)
}

// within is a context that ends after d, by the runtime's clock.
func (c *campaign) within(ctx context.Context, d time.Duration) (context.Context, func()) {
	ctx, end := c.runtime.WithCancelCause(ctx)
	stop := c.runtime.AfterFunc(d, func() { end(fmt.Errorf("no answer within %v", d)) })
	return ctx, func() { stop(); end(nil) }
}

// tell reports live progress in real time, until ctx ends.
func (c *campaign) tell(ctx, working context.Context) {
	for c.opt.Live != nil && c.runtime.Sleep(ctx, 200*time.Millisecond) == nil {
		c.live(working)
	}
}

func (c *campaign) live(working context.Context) {
	now := c.now() // also where nobody looks: it tells that virtual time goes on
	if c.opt.Live == nil {
		return
	}
	stage := "working"
	switch {
	case c.visiting.Load():
		stage = "visiting"
	case working.Err() != nil:
		stage = "healing"
	}
	c.opt.Live(Status{
		Stage: stage, Elapsed: now, Limit: c.s.TimeLimit, Granted: int(c.granted.Load()),
		Faults: c.nemesis.Active(), Violations: c.watch.Violations(),
	})
}
