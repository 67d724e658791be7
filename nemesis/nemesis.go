package nemesis

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// Env describes the run that a nemesis acts on.
type Env struct {
	Cluster   cluster.Cluster
	Clients   []string
	Keys      func() []string // the names of the locks' keys on the masters; nil: unknown
	KeyPrefix string          // begins the names of all keys; the steps of a schedule leave it out
	Pauses    Pauses
	Runtime   cluster.Runtime
	History   *history.Recorder
	Start     time.Time // beginning of the run's time
	TTL       time.Duration
	Fill      int64 // number of bytes with which the fault memory fills a master
	Seed      uint64

	// RestartDelay is how long a master that kill, shutdown, powercut or failover has ended stays down, unless a step gives
	// it another time. A run that ends meanwhile waits for that: that no key is lost while its lease is valid may hang on it.
	RestartDelay time.Duration
	// Running ends when the run is interrupted: what happens after that is not evidence, and no master has to stay down any
	// longer. Only RestartDelay needs it.
	Running context.Context

	Source func(seed, stream uint64) rand.Source // makes a source of random numbers; nil: PCG
}

// Pauses stops and ends clients at points. If clients are named, each of them stops when it
// next passes point; otherwise the first client to pass point stops. The returned function lets
// the stopped clients continue, or restarts those that ended, and returns their names. With an
// empty point the client stops or ends at once, wherever it is, which is possible only for
// clients that are processes.
type Pauses interface {
	Stop(clients []string, point string) (resume func() []string)
	Kill(clients []string, point string) (revive func() []string)
	// SetClock sets a client's clocks: both run at the rate, and the wall clock is ahead by the
	// offset.
	SetClock(client string, to cluster.Clock) error
	// Clock returns the clock that a client certainly uses.
	Clock(client string) cluster.Clock
}

// Nemesis carries out steps, any number at a time.
type Nemesis struct {
	env     Env
	watch   *watch
	random  *rand.Rand // used only by the goroutine that draws steps
	untried []string   // kinds of fault that deal has not drawn yet
	links   *links
	machines

	mu      sync.Mutex
	next    int
	active  map[int]*injection
	tried   map[string]bool         // kinds of fault of which at least one step has begun
	clocks  []string                // the changes of clocks so far
	running int                     // number of injections and waits for triggers that have not ended
	idle    context.CancelCauseFunc // set while settle waits for running to be 0
}

// New makes a nemesis, which observes the history from now on.
func New(env Env) *Nemesis {
	source := env.Source
	if source == nil {
		source = func(seed, stream uint64) rand.Source { return rand.NewPCG(seed, stream) }
	}
	n := &Nemesis{
		env: env, watch: newWatch(env.Runtime, env.TTL), random: rand.New(source(env.Seed, 0)),
		links: newLinks(env.Cluster), active: map[int]*injection{}, tried: map[string]bool{},
		machines: machines{disks: map[cluster.Master]map[int]cluster.Disk{}, full: map[cluster.Master]bool{}},
	}
	env.History.Observe(n.watch.observe)
	return n
}

// Active describes the faults that are installed now, for people.
func (n *Nemesis) Active() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, id := range slices.Sorted(maps.Keys(n.active)) {
		out = append(out, n.active[id].String())
	}
	return out
}

func (n *Nemesis) record(f *injection, t history.Type, phase string, v *history.Value, err error) {
	if v == nil {
		v = &history.Value{}
	}
	v.ID, v.Phase, v.Masters, v.Clients, v.Params = f.id, phase, f.masterNames(), f.clients, maps.Clone(f.params)
	op := history.Op{Process: history.Nemesis, Type: t, F: f.step.Fault, Value: v}
	if err != nil {
		op.Error = err.Error()
	}
	n.env.History.Record(op)
}

// recordDown records that a master no longer serves.
func (n *Nemesis) recordDown(m cluster.Master) {
	n.env.History.Record(history.Op{Process: m.Name(), Type: history.Info, F: history.FState, Value: &history.Value{State: string(cluster.Down)}})
}

// recordState records the state of a master and, if it is up, the keys that it stores.
func (n *Nemesis) recordState(m cluster.Master, look *cluster.Snapshot) {
	v := &history.Value{State: string(m.State())}
	if look != nil {
		if n.keys() != nil {
			v.Keys = look.Tokens()
		}
	}
	n.env.History.Record(history.Op{Process: m.Name(), Type: history.Info, F: history.FState, Value: v})
}

// keys returns the keys to read from masters. With the clients' names for the keys, a master
// that stores them under other names would seem to have lost them.
func (n *Nemesis) keys() []string {
	if n.env.Keys == nil {
		return nil
	}
	return n.env.Keys()
}

// now returns the time since the beginning of the run.
func (n *Nemesis) now() time.Duration { return n.env.Runtime.Now().Sub(n.env.Start) }
