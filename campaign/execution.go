package campaign

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim"
	"lockpick/history"
	"lockpick/redlock"
	"lockpick/workload"
)

// execution is one run of an exhaustive search: it follows a path of choices, and where
// that ends goes on by itself, always with the first possibility, until it has come to a
// state that is known, to its end, or to a violation.
type execution struct {
	b       *Bounds
	strikes []strike
	known   func(state) bool // nil: never
	path    []uint8          // to follow
	taken   []uint8          // so far, the path's choices first
	points  []point          // beyond the path, where there was a choice

	world   *sim.World
	masters *sim.Cluster
	faults  int             // so far
	struck  []uint8         // which strikes, each with the tick, as the harness's part of the state
	from    byte            // of the strikes, those that can be chosen yet at this tick
	busy    map[string]bool // strikes that have not ended
	holds   []grant         // by client, the latest
	found   *found
	stopped bool

	outcome  []string                    // by client: what became of its acquires; with goOn each vote, too
	naive    bool                        // every order of what is due is a choice, whoever it happens to
	goOn     bool                        // a violation does not end the run
	draw     func(n int, costs bool) int // beyond the path; nil: the first possibility
	recorder *history.Recorder           // nil: nothing is recorded
	injected int
}

// state identifies a point of a run: see sim.Cluster.State.
type state [16]byte

// point is a point of a run at which there is a choice.
type point struct {
	state   state
	depth   int // choices before it
	n       uint8
	costs   bool // all but the first choice use up a fault
	faults  uint8
	instant int64 // ns
}

// grant is a lease as its client believes in it.
type grant struct {
	until    time.Duration
	released bool
}

// found is a violation that a run has come to.
type found struct {
	at     time.Duration
	faults int
	path   []uint8
}

var errStopped = errors.New("the run has been followed for long enough")

// run runs the execution to where it stops.
func (x *execution) run() error {
	b := x.b
	x.world = sim.NewWorldOf(0, x)
	x.world.Search = x
	x.world.Limit = 24 * time.Hour
	options := sim.Options{Latency: sim.Latency{Min: b.Tick / 2, Max: time.Duration(b.Late+1) * b.Tick}, Fsync: time.Microsecond}
	if b.has(faultLost) {
		options.Loss = 0.5
	}
	x.masters = sim.New(x.world, cluster.Config{Masters: b.Masters, Persistence: cluster.Persistence(b.Persistence)}, options)
	x.holds, x.busy = make([]grant, b.Clients), map[string]bool{}
	x.outcome = make([]string, b.Clients)
	kind, _ := workload.LockNamed(b.Lock)
	var problem error
	err := x.world.Run(func() {
		done, end := x.world.Runtime().WithCancelCause(context.Background())
		left := b.Clients
		for i := range b.Clients {
			c := &actor{x: x, number: i + 1, runtime: x.world.ClientRuntime(fmt.Sprintf("c%d", i+1))}
			c.runtime.Go(func() {
				if err := c.work(kind); err != nil {
					problem = errors.Join(problem, fmt.Errorf("client c%d: %w", c.number, err))
				}
				if left--; left == 0 {
					end(errStopped)
				}
			})
		}
		if len(x.strikes) > 0 && b.MaxFaults > 0 {
			x.world.Runtime().Go(x.strikeOut)
		}
		for x.world.Runtime().Sleep(done, time.Hour) == nil {
		}
		x.world.Stop(errStopped) // what the nemesis would do yet concerns nobody
	})
	_ = x.masters.Close()
	if errors.Is(err, errStopped) {
		err = nil
	}
	return errors.Join(err, problem)
}

// record writes down what happens, if anybody wants to read it.
func (x *execution) record(op history.Op) {
	if x.recorder != nil {
		x.recorder.Record(op)
	}
}

func (x *execution) now() time.Duration { return x.world.Elapsed() }

// stop ends the run, whose choices do not matter any more.
func (x *execution) stop() {
	x.stopped = true
	x.world.Stop(errStopped)
}

// choose decides between n possibilities. what tells apart the questions that could be
// asked in one state.
func (x *execution) choose(n int, what byte, costs bool) int {
	if x.stopped || n < 2 || costs && x.faults >= x.b.MaxFaults {
		return 0
	}
	choice := uint8(0)
	if depth := len(x.taken); depth < len(x.path) {
		choice = x.path[depth]
	} else if x.draw != nil {
		choice = uint8(x.draw(n, costs))
	} else {
		p := point{state: x.state(what, n), depth: depth, n: uint8(n), costs: costs, faults: uint8(x.faults), instant: int64(x.world.Elapsed())}
		if x.known != nil && x.known(p.state) {
			x.stop()
			return 0
		}
		x.points = append(x.points, p)
	}
	x.taken = append(x.taken, choice)
	x.world.Note(int64(choice))
	if costs && choice > 0 {
		x.faults++
	}
	return int(choice)
}

// state identifies where the run is: with the state of the world, what the harness
// itself is about to do.
func (x *execution) state(what byte, n int) state {
	harness := append([]byte{what, uint8(n), uint8(x.faults), x.from}, x.struck...)
	return x.masters.State(harness)
}

// The questions.
const (
	askOrder byte = iota
	askLate
	askLost
	askSelect
	askStrike
	askBegin
	askHold
)

// Intn decides what the simulator leaves open.
func (x *execution) Intn(n int, what string) int {
	switch what {
	case sim.WhatLatency:
		ticks := time.Duration(1)
		if x.b.has(faultLate) && x.choose(2, askLate, true) == 1 {
			ticks = time.Duration(x.b.Late)
		}
		return int(x.untilTick(ticks) - x.b.Tick/2)
	case sim.WhatLoss: // below the half it is lost
		if x.choose(2, askLost, true) == 0 {
			return n - 1
		}
	case sim.WhatSelect:
		return x.choose(n, askSelect, false)
	}
	return 0
}

// untilTick is how long a message travels that arrives n ticks from now: always at a
// tick, so that what comes from different places can come at once. Of what is sent
// between ticks the first one counts as a tick if it is half a tick away or more.
func (x *execution) untilTick(n time.Duration) time.Duration {
	tick := x.b.Tick
	since := x.now() % tick
	if since > tick/2 {
		since -= tick
	}
	return n*tick - since
}

// Next takes the processes one after the other: what happens to one of them at an
// instant does not touch another. Only among the things that happen to one process does
// the order matter.
func (x *execution) Next(due []sim.Due) int {
	var mine []int // what the first process could do
	first := -1
	for i, d := range due {
		switch r := rank(&d); {
		case first < 0 || r < first:
			first, mine = r, append(mine[:0], i)
		case r == first:
			mine = append(mine, i)
		}
	}
	if x.naive { // any process could be the first
		r := rank(&due[x.choose(len(due), askOrder, false)])
		mine = mine[:0]
		for i, d := range due {
			if rank(&d) == r {
				mine = append(mine, i)
			}
		}
	}
	mine = x.could(due, mine)
	return mine[x.choose(len(mine), askOrder, false)]
}

// could leaves of what is due at one process what it could take first.
func (x *execution) could(due []sim.Due, mine []int) []int {
	switch d := &due[mine[0]]; {
	case rank(d) == harness: // in the order in which they were scheduled
		return mine[:1]
	case d.Client != "" && x.b.ClientOrders:
		return mine
	case d.Client != "":
		return []int{leading(due, mine)}
	}
	for _, i := range mine {
		if due[i].Connects {
			return []int{i} // whatever comes before or after it
		}
	}
	return eldest(due, mine)
}

// harness is the rank of what belongs to no process of those that are tried. It goes
// first: the nemesis decides what will strike before anything happens at a tick.
const harness = 0

// rank orders the processes: masters, then clients.
func rank(d *sim.Due) int {
	switch {
	case d.Client != "":
		return 100 + int(d.Client[1]-'0')
	case d.Master > 0:
		return d.Master
	}
	return harness
}

// leading is what a client takes first: replies in the order of the masters, then all
// else in the order in which it was scheduled.
func leading(due []sim.Due, mine []int) int {
	first := mine[0]
	for _, i := range mine[1:] {
		if d, f := due[i], due[first]; d.Reply && (!f.Reply || d.Master < f.Master) {
			first = i
		}
	}
	return first
}

// eldest leaves of what each client sent to a master that which it sent first.
func eldest(due []sim.Due, mine []int) []int {
	var seen []string
	return slices.DeleteFunc(mine, func(i int) bool {
		from := due[i].From
		if from == "" {
			return false
		}
		later := slices.Contains(seen, from)
		seen = append(seen, from)
		return later
	})
}

// strikeOut is the nemesis: at each tick it may choose a fault, which strikes right after
// what happens at that tick.
func (x *execution) strikeOut() {
	rt := x.world.Runtime()
	for tick := 0; tick <= x.b.Horizon && x.faults < x.b.MaxFaults; tick++ {
		for from := 0; ; {
			var free []int
			for i := from; i < len(x.strikes); i++ {
				if !x.busy[x.strikes[i].String()] {
					free = append(free, i)
				}
			}
			x.from = byte(from)
			choice := x.choose(1+len(free), askStrike, true)
			if choice == 0 {
				break
			}
			if x.stopped {
				return
			}
			i := free[choice-1]
			s := x.strikes[i]
			x.busy[s.String()] = true
			x.struck = append(x.struck, uint8(i), uint8(tick), uint8(tick>>8))
			rt.Go(func() { x.inject(s) })
			from = i + 1 // two faults at one tick are the same in either order
		}
		_ = rt.Sleep(context.Background(), x.b.Tick)
	}
}

// afterTick is how long after a tick a fault strikes: when all that happens at the tick
// has happened, and long before the next.
const afterTick = 100 * time.Microsecond

// inject is a fault from its beginning to its end.
func (x *execution) inject(s strike) {
	ctx, rt := context.Background(), x.world.Runtime()
	wait := func(d time.Duration) { _ = rt.Sleep(ctx, d) }
	wait(afterTick)
	var err error
	x.injected++
	op := history.Value{ID: x.injected, Params: map[string]string{}}
	if s.master > 0 {
		op.Masters = []string{fmt.Sprintf("m%d", s.master)}
	}
	if s.client > 0 {
		op.Clients = []string{fmt.Sprintf("c%d", s.client)}
	}
	var m cluster.Master
	if s.master > 0 {
		m = x.masters.Masters()[s.master-1]
	}
	lasting, restart := time.Duration(x.b.For)*x.b.Tick, time.Duration(x.b.Restart)*x.b.Tick
	toTheEnd := false
	installed := func() { x.tellFault(s.fault, history.PhaseInstall, op) }
	switch s.fault {
	case "kill", "powercut", "shutdown":
		switch s.fault {
		case "kill":
			err = m.Kill(ctx)
		case "shutdown":
			err = m.Shutdown(ctx)
		default:
			_, err = m.CutPower(ctx, cluster.Power{})
		}
		installed()
		x.tellState(m)
		wait(restart)
		err = errors.Join(err, m.Start(ctx))
		x.tellState(m)
	case "pause":
		err = unlessDown(m.Pause(ctx))
		installed()
		wait(lasting)
		err = errors.Join(err, unlessDown(m.Resume(ctx)))
	case "clock":
		op.Params["clock"] = x.b.Clock
		err = m.SetClock(ctx, x.b.clock())
		installed()
		toTheEnd = true
	case "partition":
		op.Params["mode"], op.Params["direction"] = string(cluster.Drop), "both"
		link, problem := x.masters.Link(op.Clients[0], s.master-1)
		if err = problem; err == nil {
			link.Set(cluster.LinkFault{Requests: cluster.Drop, Replies: cluster.Drop})
			installed()
			wait(lasting)
			link.Set(cluster.LinkFault{})
		}
	case "client-pause":
		c := x.world.ClientRuntime(op.Clients[0])
		c.Pause()
		installed()
		x.record(history.Op{Process: op.Clients[0], Type: history.Invoke, F: history.FPaused, Key: theKey, Value: &history.Value{}})
		wait(lasting)
		x.record(history.Op{Process: op.Clients[0], Type: history.OK, F: history.FPaused, Key: theKey, Value: &history.Value{}})
		c.Resume()
	}
	if err != nil {
		x.world.Stop(fmt.Errorf("%v at %v: %w", s, x.now(), err))
	}
	if toTheEnd {
		return
	}
	x.tellFault(s.fault, history.PhaseHeal, op)
	delete(x.busy, s.String())
	if i := x.entry(s); i >= 0 { // it has no consequences any more but those that State sees
		x.struck = slices.Delete(x.struck, i, i+3)
	}
}

// unlessDown lets pass that a master cannot be paused or resumed which another fault has
// ended.
func unlessDown(err error) error {
	if errors.Is(err, cluster.ErrDown) {
		return nil
	}
	return err
}

// entry finds a strike in struck.
func (x *execution) entry(s strike) int {
	for i := 0; i < len(x.struck); i += 3 {
		if x.strikes[x.struck[i]] == s {
			return i
		}
	}
	return -1
}

func (x *execution) tellFault(name, phase string, v history.Value) {
	for _, t := range []history.Type{history.Invoke, history.OK} {
		v := v
		v.Phase, v.Bit = phase, phase == history.PhaseHeal
		x.record(history.Op{Process: history.Nemesis, Type: t, F: name, Value: &v})
	}
}

// tellState records what a master's process is, and when it is up what it stores.
func (x *execution) tellState(m cluster.Master) {
	v := &history.Value{State: string(m.State())}
	if m.State() == cluster.Up {
		v.Keys = x.masters.Stored(m.Name(), theKey)
	}
	x.record(history.Op{Process: m.Name(), Type: history.Info, F: history.FState, Value: v})
}

// theKey is the one key.
const theKey = "k0"

// actor is one client of an execution.
type actor struct {
	x       *execution
	number  int
	runtime *sim.Client
	drawn   uint64 // random bytes, so far
}

// work is all that a client does.
func (c *actor) work(kind workload.Kind) error {
	x, b := c.x, c.x.b
	name := fmt.Sprintf("c%d", c.number)
	rt := steady{c.runtime, c}
	if c.number > 1 && b.Stagger > 0 {
		begin := x.choose(b.Stagger+1, askBegin, false)
		_ = rt.Sleep(context.Background(), time.Duration(begin)*b.Tick)
	}
	lock, err := kind.New(workload.Site{
		Client: name, Masters: x.masters.ClientMasters(name), Runtime: rt,
		TTL: time.Duration(b.TTL) * b.Tick, Timeout: time.Duration(b.Timeout)*b.Tick + b.Tick/2,
		Hooks: redlock.Hooks{Vote: func(v redlock.Vote) {
			if x.recorder != nil {
				x.record(workload.VoteOp(name, v, false))
			}
			if x.goOn {
				x.outcome[c.number-1] += fmt.Sprintf(" %s %s %v %v at %v", v.Kind, v.Name, v.Yes, v.Err, x.now())
			}
		}},
		Pass: func(string, string) bool { return true }, Record: func(history.Op) {}, Apply: func(string, string, int64, int64) error { return nil },
	})
	if err != nil {
		return err
	}
	for range b.Acquires {
		if !c.acquire(name, lock, rt) {
			break
		}
	}
	return lock.Close()
}

// acquire takes the lock, holds it and gives it back; false: it was not granted.
func (c *actor) acquire(name string, lock workload.Lock, rt redlock.Runtime) bool {
	x, b := c.x, c.x.b
	record := func(t history.Type, f string, v *history.Value, err error) {
		op := history.Op{Process: name, Type: t, F: f, Key: theKey, Value: v}
		if err != nil {
			op.Error = err.Error()
		}
		x.record(op)
	}
	trying, end := rt.WithCancelCause(context.Background())
	defer end(nil)
	left := time.Duration(b.Horizon)*b.Tick + b.Tick/4 - x.now() // between ticks, where nothing else happens
	if left <= 0 {
		return false
	}
	defer rt.AfterFunc(left, func() { end(errTimeLimit) })()
	record(history.Invoke, history.FAcquire, nil, nil)
	lease, err := lock.Acquire(trying, theKey)
	if err != nil {
		record(history.Fail, history.FAcquire, nil, err)
		x.outcome[c.number-1] += fmt.Sprintf(" refused at %v", x.now())
		return false
	}
	x.outcome[c.number-1] += fmt.Sprintf(" granted at %v", x.now())
	until := lease.Until().Sub(sim.Epoch)
	record(history.OK, history.FAcquire, &history.Value{Token: lease.Token(), ValidUntil: until, Fence: lease.Fence()}, nil)
	x.granted(c.number-1, until)
	hold := b.Tick
	if x.choose(2, askHold, false) == 1 {
		hold = max(until-x.now(), 0) + time.Millisecond
	}
	_ = rt.Sleep(context.Background(), hold)
	x.holds[c.number-1].released = true
	record(history.Invoke, history.FRelease, &history.Value{Token: lease.Token()}, nil)
	err = lease.Release(context.Background())
	record(workload.Outcome(err), history.FRelease, &history.Value{Token: lease.Token()}, err)
	return true
}

// granted looks whether the lock is held twice now.
func (x *execution) granted(client int, until time.Duration) {
	now := x.now()
	x.holds[client] = grant{until: until}
	if until <= now {
		return
	}
	for i, h := range x.holds {
		if i != client && !h.released && h.until > now && x.found == nil && !x.stopped {
			x.found = &found{at: now, faults: x.faults, path: slices.Clone(x.taken)}
			if x.known != nil && !x.goOn {
				x.stop()
			}
		}
	}
}

// steady is a client's runtime whose random bytes are its own: the same whatever others
// draw. What is drawn eight bytes at a time makes a delay of one tick of those that
// Redlock's locks draw.
type steady struct {
	*sim.Client
	c *actor
}

// redlockDelay is the least delay between two attempts, to which they add what is drawn.
const redlockDelay = 20 * time.Millisecond

// Read fills b.
func (s steady) Read(b []byte) {
	if len(b) == 8 {
		binary.LittleEndian.PutUint64(b, uint64(max(s.c.x.b.Tick-redlockDelay, 0)))
		return
	}
	clear(b)
	s.c.drawn++
	copy(b, fmt.Appendf(nil, "%d%03d", s.c.number, s.c.drawn))
}
