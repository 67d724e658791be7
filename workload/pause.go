package workload

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/redlock/protocol"
)

// The points at which a client can be stopped.
const (
	// AfterQuorum: the votes have decided, and the validity is not yet checked (distlock,
	// between steps 2 and 3).
	AfterQuorum = "after-quorum"
	// BeforeEnter: the lease was valid, and the critical section is not yet entered.
	BeforeEnter = "before-enter"
	// BeforeWrite: the lease was valid, and the write is not yet sent.
	BeforeWrite = "before-write"

	// BeforeMark: the lease was valid, and the token is not yet written into the resource.
	// BeforeRead: the resource is not yet read. Only clients of a resource with compare-and-set
	// pass these (Protocol.Points).
	BeforeMark = "before-mark"
	BeforeRead = "before-read"

	// BetweenCommands: a lock that uses two commands instead of one has sent the first. Correct
	// locks never pass this point, so no nemesis draws it.
	BetweenCommands = "between-commands"
)

// Points lists the points that every client passes, in their order.
var Points = []string{AfterQuorum, BeforeEnter, BeforeWrite}

// Process is a client that is a process, which signals can stop anywhere.
type Process interface {
	Stop()     // SIGSTOP
	Continue() // SIGCONT
	Kill()     // SIGKILL
}

// Pauses are the orders to stop or end clients. A client that passes a point for which there is
// an order stops there until the order is cancelled, or ends there and restarts when the order
// is cancelled.
type Pauses struct {
	runtime   protocol.Runtime
	record    func(history.Op) history.Op
	setClock  func(client string, to cluster.Clock) error
	clock     func(client string) cluster.Clock
	lease     func(client string) (key, token string) // that it holds now
	mu        sync.Mutex
	orders    []*order
	processes map[string]Process // clients that are processes
	turn      int                // names of the clients, for an order to any process
	dead      map[string]bool    // clients that were ended, and whose end is recorded or about to be
}

type order struct {
	clients []string // empty: any
	point   string
	kill    bool
	until   context.Context
	end     context.CancelCauseFunc
	struck  []string // the clients that were stopped or ended
}

// NewPauses returns Pauses without orders.
func NewPauses(r protocol.Runtime, record func(history.Op) history.Op) *Pauses {
	return &Pauses{
		runtime: r, record: record, processes: map[string]Process{}, dead: map[string]bool{},
		setClock: func(string, cluster.Clock) error { return nil }, clock: func(string) cluster.Clock { return cluster.Clock{} },
		lease: func(string) (string, string) { return "", "" },
	}
}

var errResumed = errors.New("resumed")

// Stop orders each of the clients to stop when it next passes point. If no clients are named,
// the first client to pass point stops. resume cancels the order, lets the stopped clients
// continue, and returns them. Without a point, clients that are processes stop at once,
// wherever they are.
func (p *Pauses) Stop(clients []string, point string) (resume func() []string) {
	return p.order(&order{clients: clients, point: point})
}

// Kill orders each of the clients to end when it next passes point, in the same way as Stop.
// The client neither leaves nor releases, and restarts when revive is called.
func (p *Pauses) Kill(clients []string, point string) (revive func() []string) {
	return p.order(&order{clients: clients, point: point, kill: true})
}

// SetClock sets a client's clocks: both run at the rate, and the wall clock is ahead by the
// offset. A client that is a process receives the setting once it is not stopped.
func (p *Pauses) SetClock(client string, to cluster.Clock) error { return p.setClock(client, to) }

// Clock returns the clock that a client is known to use.
func (p *Pauses) Clock(client string) cluster.Clock { return p.clock(client) }

func (p *Pauses) order(o *order) func() []string {
	o.until, o.end = p.runtime.WithCancelCause(context.Background())
	p.mu.Lock()
	p.orders = append(p.orders, o)
	struck := p.atOnce(o)
	p.mu.Unlock()
	for client, process := range struck {
		p.strike(o, client, process, anywhere, "")
	}
	return func() []string {
		p.mu.Lock()
		p.orders = slices.DeleteFunc(p.orders, func(x *order) bool { return x == o })
		all := o.struck
		p.mu.Unlock()
		o.end(errResumed)
		for client, process := range struck {
			if !o.kill {
				p.goOn(client, process, anywhere, "")
			}
		}
		return all
	}
}

// anywhere is the point of an order that strikes at once.
const anywhere = "anywhere"

// atOnce finds the processes that an order without a point strikes. The caller holds p.mu.
func (p *Pauses) atOnce(o *order) map[string]Process {
	struck := map[string]Process{}
	if o.point != "" {
		return struck
	}
	clients := o.clients
	if names := slices.Sorted(maps.Keys(p.processes)); len(clients) == 0 && len(names) > 0 {
		p.turn++
		clients = []string{names[p.turn%len(names)]}
	}
	for _, c := range clients {
		if process, ok := p.processes[c]; ok {
			struck[c] = process
			o.struck = append(o.struck, c)
		}
	}
	return struck
}

// register sets the current process of a client.
func (p *Pauses) register(client string, process Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.processes[client] = process
}

// Pass is called by a client at a point. It returns true when the client may continue, and
// false if it has ended there.
func (p *Pauses) Pass(client, point, key string) (alive bool) {
	o, process := p.take(client, point)
	if o == nil {
		return true
	}
	p.strike(o, client, process, point, key)
	if o.kill {
		return false
	}
	for p.runtime.Sleep(o.until, sleepStep) == nil {
	}
	p.goOn(client, process, point, key)
	return true
}

// strike stops or ends a client; process is nil if it is none.
func (p *Pauses) strike(o *order, client string, process Process, point, key string) {
	op := history.Op{Process: client, Type: history.Invoke, F: history.FPaused, Key: key, Value: &history.Value{Point: point}}
	if o.kill {
		op.Type, op.F = history.Info, history.FCrash
		if key, token := p.lease(client); token != "" {
			op.Key, op.Value.Token = key, token
		}
	}
	if o.kill { // before it ends, because whoever notices the end calls ended
		p.mu.Lock()
		p.dead[client] = true
		p.mu.Unlock()
	}
	switch {
	case process != nil && o.kill:
		process.Kill()
	case process != nil:
		process.Stop()
	}
	p.record(op)
}

func (p *Pauses) goOn(client string, process Process, point, key string) {
	p.record(history.Op{Process: client, Type: history.OK, F: history.FPaused, Key: key, Value: &history.Value{Point: point}})
	if process != nil {
		process.Continue()
	}
}

// awake returns when a client that is a process is not stopped. What the harness does for it,
// such as leaving a section, it does only then.
func (p *Pauses) awake(client string) { p.await(client, false) }

// awaitRestart returns when a client that has ended may restart.
func (p *Pauses) awaitRestart(client string) { p.await(client, true) }

// await returns when no order holds the client.
func (p *Pauses) await(client string, kill bool) {
	for o := p.held(client, kill); o != nil; o = p.held(client, kill) {
		_ = p.runtime.Sleep(o.until, sleepStep)
	}
}

// ended reports whether an order was the reason for the client's end. It is called once for
// each end.
func (p *Pauses) ended(client string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ordered := p.dead[client]
	delete(p.dead, client)
	return ordered
}

// stopped reports whether an order has stopped the client, at whatever place.
func (p *Pauses) stopped(client string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.orders, func(o *order) bool { return !o.kill && slices.Contains(o.struck, client) })
}

// held is an order that has struck a client, to end it or to stop it at once.
func (p *Pauses) held(client string, kill bool) *order {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.orders {
		if o.kill == kill && (kill || o.point == "") && slices.Contains(o.struck, client) {
			return o
		}
	}
	return nil
}

// take finds an order that strikes this client here. An order strikes a client once, because
// the client stays stopped until the order is cancelled; an order for any client strikes once
// in all. Only a process can be ended within a call of its lock.
func (p *Pauses) take(client, point string) (*order, Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	process := p.processes[client]
	for _, o := range p.orders {
		named := slices.Contains(o.clients, client)
		any := len(o.clients) == 0 && len(o.struck) == 0
		if o.point == point && (named || any) && !(o.kill && process == nil && point == AfterQuorum) {
			o.struck = append(o.struck, client)
			return o, process
		}
	}
	return nil, nil
}
