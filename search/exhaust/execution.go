package exhaust

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim"
	"lockpick/cluster/sim/world"
	"lockpick/history"
	"lockpick/workload"
)

// execution is one run of an exhaustive search. It follows a path of choices, and afterwards takes the first
// possibility of each choice, until it reaches a known state, its end, or a violation.
type execution struct {
	b       *Bounds
	strikes []strike
	known   func(state) bool // reports whether a state was visited; nil: none was
	path    []uint8          // the choices to follow
	taken   []uint8          // the choices so far, beginning with those of path
	points  []point          // the points with a choice after path

	clients []*client
	failed  atomic.Pointer[failedCall] // a call of the lock that did not return, or panicked
	world   *world.World
	masters *sim.Cluster
	faults  int             // number of faults so far
	struck  []uint8         // the strikes that have not ended, three bytes each: index, tick; part of the state
	from    byte            // index of the first strike that can still be chosen at this tick
	busy    map[string]bool // strikes that have not ended, by their text
	holds   []grant         // the latest grant of each client
	found   *Found
	stopped bool

	outcome                []string                    // each client's results; with continueAfterViolation votes, too
	anyProcessFirst        bool                        // try every order of the processes that are due at one time
	continueAfterViolation bool                        // a violation does not end the run
	draw                   func(n int, costs bool) int // makes the choices after path; nil: the first possibility
	recorder               *history.Recorder           // nil: nothing is recorded
	injected               int
}

// state identifies a point of a run: see sim.Cluster.State.
type state [16]byte

// point is a point of a run with a choice.
type point struct {
	state   state
	depth   int // number of choices before it
	n       uint8
	costs   bool // all choices except the first use up a fault
	faults  uint8
	instant int64 // ns
}

// grant is a lease from its client's point of view, and the client's critical section under it.
type grant struct {
	until    time.Duration
	acquired bool // it was granted, possibly after its end
	released bool // the client has called release, which ends its critical section
}

// over reports whether the grant can no longer conflict with one at now, at the judged level.
func (g grant) over(b *Bounds, now time.Duration) bool {
	if !b.judged().Leases {
		return !g.acquired || g.released
	}
	return g.released || g.until <= now
}

var (
	errStopped = errors.New("the run has been followed for long enough")
	errHorizon = errors.New("the time limit")
)

// run runs the execution until it stops.
func (x *execution) run() error {
	b := x.b
	x.world = world.NewOf(0, x)
	x.world.Search = x
	x.world.Limit = b.callLimit()
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
		for _, c := range x.clients {
			c.runtime = x.world.ClientRuntime(c.name)
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
			x.world.Runtime().Go(x.runNemesis)
		}
		for x.world.Runtime().Sleep(done, time.Hour) == nil {
		}
		x.world.Stop(errStopped) // later faults affect no client
	})
	_ = x.masters.Close()
	if errors.Is(err, errStopped) {
		err = nil
	}
	return errors.Join(err, problem)
}

// record records an operation if the execution has a recorder.
func (x *execution) record(op history.Op) {
	if x.recorder != nil {
		x.recorder.Record(op)
	}
}

func (x *execution) now() time.Duration { return x.world.Elapsed() }

// stop ends the run. The choices that follow no longer matter.
func (x *execution) stop() {
	x.stopped = true
	x.world.Stop(errStopped)
}

// choose decides between n possibilities, from 0. what distinguishes the decisions in one state. Any
// possibility but the first uses up a fault if costs is set.
func (x *execution) choose(n int, what byte, costs bool) int {
	if x.stopped || n < 2 || costs && x.faults >= x.b.MaxFaults {
		return 0
	}
	choice := uint8(0)
	if depth := len(x.taken); depth < len(x.path) {
		if choice = x.path[depth]; int(choice) >= n {
			x.world.Stop(errNotAgain)
			return 0
		}
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
	if what != askOrder { // an order is visible only in the events that follow
		x.world.Note(int64(choice))
	}
	if costs && choice > 0 {
		x.faults++
	}
	return int(choice)
}

// state identifies the current point of the run: the state of the world, and the decision that the harness is
// about to make.
func (x *execution) state(what byte, n int) state {
	harness := append([]byte{what, uint8(n), uint8(x.faults), x.from}, x.struck...)
	return x.masters.State(harness)
}

// The kinds of decisions, for the argument what of choose.
const (
	askOrder byte = iota
	askLate
	askLost
	askSelect
	askStrike
	askBegin
	askHold
)

// Intn makes the simulator's random decisions.
func (x *execution) Intn(n int, what string) int {
	switch what {
	case world.WhatLatency:
		ticks := time.Duration(1)
		if x.b.has(faultLate) && x.choose(2, askLate, true) == 1 {
			ticks = time.Duration(x.b.Late)
		}
		return int(x.untilTick(ticks) - x.b.Tick/2)
	case world.WhatLoss: // the message is lost if the result is below n/2
		if x.choose(2, askLost, true) == 0 {
			return n - 1
		}
	case world.WhatSelect:
		return x.choose(n, askSelect, false)
	}
	return 0
}

// untilTick returns how long a message takes that arrives n ticks from now. It always arrives at a tick, so
// that messages from different places can arrive at the same time. If it is sent between ticks, the next tick
// counts as the first if it is at least half a tick away.
func (x *execution) untilTick(n time.Duration) time.Duration {
	tick := x.b.Tick
	since := x.now() % tick
	if since > tick/2 {
		since -= tick
	}
	return n*tick - since
}

// Next chooses the event to happen first. It takes one process after the other, because an event of one
// process does not affect another process at the same instant. Only the order of the events of one process
// matters.
func (x *execution) Next(due []world.Due) int {
	var mine []int // the possible events of the first process
	first := -1
	for i, d := range due {
		switch r := rank(&d); {
		case first < 0 || r < first:
			first, mine = r, append(mine[:0], i)
		case r == first:
			mine = append(mine, i)
		}
	}
	if x.anyProcessFirst { // start with any process
		r := rank(&due[x.choose(len(due), askOrder, false)])
		mine = mine[:0]
		for i, d := range due {
			if rank(&d) == r {
				mine = append(mine, i)
			}
		}
	}
	mine = x.runnable(due, mine)
	return mine[x.choose(len(mine), askOrder, false)]
}

// runnable returns those of one process's events that may happen first.
func (x *execution) runnable(due []world.Due, mine []int) []int {
	switch d := &due[mine[0]]; {
	case rank(d) == harness: // in scheduling order
		return mine[:1]
	case d.Client != "" && x.b.ClientOrders:
		return mine
	case d.Client != "":
		return []int{firstForClient(due, mine)}
	}
	for _, i := range mine {
		if due[i].Connects {
			return []int{i} // its order among the others does not matter
		}
	}
	return oldestPerClient(due, mine)
}

// harness is the rank of events of the harness itself. They come first: the nemesis decides about its faults
// before anything else happens at a tick.
const harness = 0

// rank orders the processes: the harness, masters, then clients.
func rank(d *world.Due) int {
	switch {
	case d.Client != "":
		return 100 + int(d.Client[1]-'0')
	case d.Master > 0:
		return d.Master
	}
	return harness
}

// firstForClient returns the event that a client handles first: replies in the order of the masters, then
// everything else in scheduling order.
func firstForClient(due []world.Due, mine []int) int {
	first := mine[0]
	for _, i := range mine[1:] {
		if d, f := due[i], due[first]; d.Reply && (!f.Reply || d.Master < f.Master) {
			first = i
		}
	}
	return first
}

// oldestPerClient returns the oldest message of each client to a master, and all events that no client sent.
func oldestPerClient(due []world.Due, mine []int) []int {
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

// theKey is the only key.
const theKey = "k0"
