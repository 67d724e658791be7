package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/workload"
)

// Session is a run whose clients are somebody else's, such as a test suite: it has masters with links, a nemesis that
// obeys, and a history. The clients report what they do with a lock (Report). Its methods are safe for concurrent use.
type Session struct {
	c         *campaign
	addresses map[string][]string    // of the masters, through a client's links
	settle    map[string]func() bool // by client; see workload.Env.Settle
	access    cluster.Access         // what clients need to use an address
	keys      workload.RedisKeys

	working sync.WaitGroup // installations and healings that programs asked for

	mu     sync.Mutex
	over   bool // nothing begins or is recorded any more
	faults map[int]*heldFault
	uses   map[use]*lockUse
	locks  map[string]bool // names of the locks that were reported
	stored map[string]bool // tokens that a master said yes to storing
	named  int             // tokens that the session has made up
}

// Fault is an installed fault of a session.
type Fault struct {
	nemesis.Installed
	Step scenario.Step
}

type heldFault struct {
	Fault
	heal func()
}

// UntilHealed is the duration of a step that lasts until it is healed.
const UntilHealed = 24 * time.Hour

// reported returns the header of a run with these options: of a session, it says that clients report what they do.
func (o *Options) reported(h history.Header) history.Header {
	if o.Session != nil {
		h.Reported, h.Lock, h.Quorum, h.Faults, h.Nemesis, h.Keys = true, "", 0, nil, "schedule", 0
	}
	return h
}

// serve records everything from the call of session to the end mark.
func (c *campaign) serve(session func(context.Context, *Session) error) (err error) {
	x := &Session{c: c, addresses: map[string][]string{}, settle: map[string]func() bool{}, faults: map[int]*heldFault{}, uses: map[use]*lockUse{}, stored: map[string]bool{}, locks: map[string]bool{}}
	c.session = x
	c.openAccount()
	if c.lint, err = NewLint(len(c.masters.Masters()), 0, c.start); err != nil {
		return err
	}
	c.recorder.Observe(c.noteRedisKey)
	c.nemesis = nemesis.New(nemesis.Env{
		Cluster: c.masters, Clients: workload.Clients(c.s.Clients), Keys: c.inspectedKeys, Runtime: c.runtime, History: c.recorder, Start: c.start,
		TTL: c.s.TTL, Seed: c.s.Seed, Fill: 4 * c.s.MaxMemory,
	})
	running, cancel := context.WithCancelCause(c.outer)
	defer cancel(nil)
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	shown, hide := context.WithCancel(context.Background())
	defer hide()
	for _, client := range workload.Clients(c.s.Clients) {
		env, err := c.clientEnv(client)
		if err != nil {
			return err
		}
		if env.Observe != nil {
			env.Observe(func(op history.Op, at time.Time) { x.vote(client, op, at) })
		}
		x.addresses[client], x.settle[client], x.access = env.Addrs, env.Settle, env.Access
	}
	c.runtime.Go(func() { c.heartbeat(shown) })
	settled := c.followMasters(shown, true)
	err = session(running, x)
	x.end()
	hide()
	settled()
	x.conclude()
	if err := errors.Join(err, c.failed()); err != nil {
		return err
	}
	c.end()
	return nil
}

// Addresses returns the addresses of the masters, in their order, by client (c1, c2, …). Each client has links of its own,
// so that a fault can cut one from masters that another reaches.
func (x *Session) Addresses() map[string][]string { return maps.Clone(x.addresses) }

// Access returns what clients need to use the addresses.
func (x *Session) Access() cluster.Access { return x.access }

// Masters returns the masters and their states.
func (x *Session) Masters() (names []string, states []cluster.State) {
	for _, m := range x.c.masters.Masters() {
		names, states = append(names, m.Name()), append(states, m.State())
	}
	return names, states
}

// TTL returns the greatest TTL of the locks.
func (x *Session) TTL() time.Duration { return x.c.s.TTL }

// Driver returns the driver, and the name and the version of the servers.
func (x *Session) Driver() (driver, server, version string) {
	return x.c.masters.Driver(), x.c.masters.Server(), x.c.masters.Version()
}

// Dir returns the folder of the run, where its history grows.
func (x *Session) Dir() string { return x.c.dir }

// errOver is the error of requests that come when the session ends.
var errOver = errors.New("the masters have been stopped")

// begin counts work that the end of the session waits for. It returns false if the session has ended.
func (x *Session) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.working.Add(1)
	}
	return !x.over
}

// end waits for installations and healings in flight, and heals what is installed then.
func (x *Session) end() {
	x.mu.Lock()
	x.over = true
	x.mu.Unlock()
	x.working.Wait()
	for _, f := range x.Installed() {
		x.heal(f.ID)
	}
}

// Install installs a fault, and returns when it is installed. It heals after step.For; if that is 0, before Install
// returns. The error is a *scenario.Problem if the step is wrong; any other says why the fault could not be installed.
func (x *Session) Install(ctx context.Context, step scenario.Step) (Fault, error) {
	if !x.begin() {
		return Fault{}, errOver
	}
	defer x.working.Done()
	if step.At != 0 || step.After != "" || step.Plus != 0 || step.Repeat {
		return Fault{}, &scenario.Problem{Field: "fault", Says: "it is installed at once: leave out at, after, plus and repeat"}
	}
	s := x.c.s
	s.Schedule = []scenario.Step{step}
	if _, known := fault.Named(step.Fault); !known {
		return Fault{}, scenario.UnknownValue("fault", step.Fault, x.Faults())
	} else if !x.possible(step.Fault) {
		return Fault{}, &scenario.Problem{Field: "fault", Says: fmt.Sprintf("%s is not possible here: use one of %s", step.Fault, strings.Join(x.Faults(), ", "))}
	}
	if err := s.Check(); err != nil {
		var wrong *scenario.Problem
		if errors.As(err, &wrong) { // the program wrote one step, not a schedule
			wrong.Field = strings.TrimPrefix(cmp.Or(strings.TrimPrefix(wrong.Field, "schedule[0]"), "fault"), ".")
		}
		return Fault{}, err
	}
	if s.WithRequirements().Replicas != s.Replicas {
		return Fault{}, errors.New(step.Fault + " needs masters with replicas: start them with --replicas 1")
	}
	if s.WithRequirements().MaxMemory != s.MaxMemory {
		return Fault{}, errors.New(step.Fault + " needs masters with a limit: start them with --max-memory 4194304")
	}
	at, heal, err := x.c.nemesis.Install(ctx, step)
	f := Fault{at, step}
	if err != nil {
		return f, fmt.Errorf("%s was not installed: %w", step.Fault, err)
	}
	x.mu.Lock()
	x.faults[f.ID] = &heldFault{f, heal}
	x.mu.Unlock()
	if step.For == 0 {
		x.heal(f.ID)
	}
	return f, nil
}

// Faults lists the kinds of fault that a session of this driver has. It cannot stop clients, which are not its own.
func (x *Session) Faults() []string {
	return slices.DeleteFunc(fault.Names(), func(name string) bool { return !x.possible(name) })
}

func (x *Session) possible(name string) bool {
	return fault.Of(name).Hits != fault.Clients && fault.Of(name).On(x.c.masters.Driver())
}

// Installed lists the faults that are installed now, the oldest first.
func (x *Session) Installed() []Fault {
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []Fault
	for id, f := range x.faults {
		if !x.c.nemesis.Lasts(id) {
			delete(x.faults, id) // its time was over
			continue
		}
		all = append(all, f.Fault)
	}
	slices.SortFunc(all, func(a, b Fault) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Heal heals a fault, and returns once it has healed. It returns false if there is no such fault.
func (x *Session) Heal(id int) bool {
	if !x.begin() {
		return false
	}
	defer x.working.Done()
	return x.heal(id)
}

func (x *Session) heal(id int) bool {
	x.mu.Lock()
	f := x.faults[id]
	delete(x.faults, id)
	x.mu.Unlock()
	if f == nil {
		return false
	}
	f.heal()
	return true
}

// HealAll heals all faults, the oldest first.
func (x *Session) HealAll() {
	for _, f := range x.Installed() {
		x.Heal(f.ID)
	}
}
