package exhaust

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/cluster/sim"
	"lockpick/history"
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

	outcome                []string                    // by client: what became of its acquires; with goOn each vote, too
	anyProcessFirst        bool                        // the next step may be that of any process that is due: all orders are tried
	continueAfterViolation bool                        // a violation does not end the run
	draw                   func(n int, costs bool) int // beyond the path; nil: the first possibility
	recorder               *history.Recorder           // nil: nothing is recorded
	injected               int
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

// grant is a lease as its client believes in it, and the client's critical section under it.
type grant struct {
	until    time.Duration
	acquired bool // granted, perhaps on arrival after its end
	released bool // the client has called release: its critical section is over
}

// over says whether the grant can no longer conflict with one at now, at the level that is
// judged.
func (g grant) over(b *Bounds, now time.Duration) bool {
	if b.judged() == checker.BeliefExclusion {
		return !g.acquired || g.released
	}
	return g.released || g.until <= now
}

// found is a violation that a run has come to.
type found struct {
	at     time.Duration
	faults int
	path   []uint8
}

var (
	errStopped = errors.New("the run has been followed for long enough")
	errHorizon = errors.New("the time limit")
)

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
			c := &client{x: x, number: i + 1, runtime: x.world.ClientRuntime(fmt.Sprintf("c%d", i+1))}
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
	if x.anyProcessFirst { // any process could be the first
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

// runnable leaves of what is due at one process what it could take first.
func (x *execution) runnable(due []sim.Due, mine []int) []int {
	switch d := &due[mine[0]]; {
	case rank(d) == harness: // in the order in which they were scheduled
		return mine[:1]
	case d.Client != "" && x.b.ClientOrders:
		return mine
	case d.Client != "":
		return []int{firstForClient(due, mine)}
	}
	for _, i := range mine {
		if due[i].Connects {
			return []int{i} // whatever comes before or after it
		}
	}
	return oldestPerClient(due, mine)
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

// firstForClient is what a client takes first: replies in the order of the masters, then all
// else in the order in which it was scheduled.
func firstForClient(due []sim.Due, mine []int) int {
	first := mine[0]
	for _, i := range mine[1:] {
		if d, f := due[i], due[first]; d.Reply && (!f.Reply || d.Master < f.Master) {
			first = i
		}
	}
	return first
}

// oldestPerClient leaves of what each client sent to a master that which it sent first.
func oldestPerClient(due []sim.Due, mine []int) []int {
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

// theKey is the one key.
const theKey = "k0"
