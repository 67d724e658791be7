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

// These are the points at which a client can be stopped.
const (
	// AfterQuorum is the point at which the votes have decided, and the validity is not yet
	// checked (distlock, between steps 2 and 3). A client that acquires within its critical
	// section does not pass it, because that is a stop in the section.
	AfterQuorum = "after-quorum"
	// BeforeEnter is the point at which the lease was valid, and the critical section is not
	// yet entered.
	BeforeEnter = "before-enter"
	// BeforeWrite is the point at which the lease was valid, and the write is not yet sent.
	BeforeWrite = "before-write"

	// BeforeMark is the point at which the lease was valid, and the token is not yet written
	// into the resource. BeforeRead is the point before the resource is read. Only clients of a
	// resource with compare-and-set pass these two (Protocol.Points).
	BeforeMark = "before-mark"
	BeforeRead = "before-read"

	// BetweenCommands is the point at which a lock that uses two commands instead of one has
	// sent the first. Lockpick's correct locks never pass this point, so no nemesis draws it. Of a lock that
	// reaches its masters only by connections in memory it is not known what will follow: it passes the point
	// with each reply in an extension or a release.
	BetweenCommands = "between-commands"
)

// Points lists the points that every client passes, in their order.
var Points = []string{AfterQuorum, BeforeEnter, BeforeWrite}

// Process is a client that is a process. Signals can stop it anywhere.
type Process interface {
	Stop()     // SIGSTOP
	Continue() // SIGCONT
	Kill()     // SIGKILL
}

// Pauses holds the orders to stop or end clients. A client that passes a point for which there
// is an order stops there until the order is cancelled, or ends there and restarts when the
// order is cancelled.
type Pauses struct {
	runtime   protocol.Runtime
	record    func(history.Op) history.Op
	setClock  func(client string, to cluster.Clock) error
	clock     func(client string) cluster.Clock
	lease     func(client string) (key, token string) // the lease that a client holds now
	mu        sync.Mutex
	orders    []*order
	processes map[string]Process // clients that are processes
	turn      int                // counts the orders for any process, to take turns
	dead      map[string]bool    // clients that an order has ended, until their end is recorded
}

type order struct {
	clients  []string // empty: any client
	point    string
	kill     bool
	until    context.Context
	end      context.CancelCauseFunc
	affected []string // the clients that were stopped or ended
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
// continue, and returns their names. With an empty point, clients that are processes stop at
// once, wherever they are.
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

// Clock returns the clock that a client certainly uses.
func (p *Pauses) Clock(client string) cluster.Clock { return p.clock(client) }

func (p *Pauses) order(o *order) func() []string {
	o.until, o.end = p.runtime.WithCancelCause(context.Background())
	p.mu.Lock()
	p.orders = append(p.orders, o)
	affected := p.atOnce(o)
	p.mu.Unlock()
	for client, process := range affected {
		p.stopClient(o, client, process, anywhere, "")
	}
	return func() []string {
		if !o.kill {
			for client, process := range affected { // before the harness acts for them again (awake)
				p.continueClient(client, process, anywhere, "")
			}
		}
		p.mu.Lock()
		p.orders = slices.DeleteFunc(p.orders, func(x *order) bool { return x == o })
		all := o.affected
		p.mu.Unlock()
		o.end(errResumed)
		return all
	}
}

// anywhere is the point of an order that takes effect at once.
const anywhere = "anywhere"

// atOnce finds the processes that an order without a point hits. The caller holds p.mu.
func (p *Pauses) atOnce(o *order) map[string]Process {
	affected := map[string]Process{}
	if o.point != "" {
		return affected
	}
	clients := o.clients
	if names := slices.Sorted(maps.Keys(p.processes)); len(clients) == 0 && len(names) > 0 {
		p.turn++
		clients = []string{names[p.turn%len(names)]}
	}
	for _, c := range clients {
		if process, ok := p.processes[c]; ok {
			affected[c] = process
			o.affected = append(o.affected, c)
		}
	}
	return affected
}

// register sets the current process of a client.
func (p *Pauses) register(client string, process Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.processes[client] = process
}

// Pass is called by a client at a point. It returns true when the client may continue, and
// false if the client has ended there.
func (p *Pauses) Pass(client, point, key string) (alive bool) {
	if point == AfterQuorum {
		if _, token := p.lease(client); token != "" {
			return true
		}
	}
	o, process := p.take(client, point)
	if o == nil {
		return true
	}
	p.stopClient(o, client, process, point, key)
	if o.kill {
		return false
	}
	for p.runtime.Sleep(o.until, sleepStep) == nil {
	}
	p.continueClient(client, process, point, key)
	return true
}

// stopClient stops or ends a client; process is nil if the client is not a process.
func (p *Pauses) stopClient(o *order, client string, process Process, point, key string) {
	op := history.Op{Process: client, Type: history.Invoke, F: history.FPaused, Key: key, Value: &history.Value{Point: point}}
	if o.kill {
		op.Type, op.F = history.Info, history.FCrash
		if key, token := p.lease(client); token != "" {
			op.Key, op.Value.Token = key, token
		}
	}
	if o.kill { // before the end, because the code that notices it calls ended
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

func (p *Pauses) continueClient(client string, process Process, point, key string) {
	p.record(history.Op{Process: client, Type: history.OK, F: history.FPaused, Key: key, Value: &history.Value{Point: point}})
	if process != nil {
		process.Continue()
	}
}

// awake returns when a client that is a process is not stopped. The harness acts for the
// client, for example leaves a section, only after that.
func (p *Pauses) awake(client string) { p.await(client, false) }

// awaitRestart returns when a client that has ended may restart.
func (p *Pauses) awaitRestart(client string) { p.await(client, true) }

// await returns when no order stops the client or keeps it from restarting.
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

// stopped reports whether an order has stopped the client, at any place.
func (p *Pauses) stopped(client string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.orders, func(o *order) bool { return !o.kill && slices.Contains(o.affected, client) })
}

// held returns an order that has ended a client, or has stopped it at once; nil: there is none.
func (p *Pauses) held(client string, kill bool) *order {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.orders {
		if o.kill == kill && (kill || o.point == "") && slices.Contains(o.affected, client) {
			return o
		}
	}
	return nil
}

// take finds an order for this client at this point. An order hits a client once, because the
// client stays stopped until the order is cancelled; an order for any client hits only one
// client. Only a process can be ended within a call of its lock.
func (p *Pauses) take(client, point string) (*order, Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	process := p.processes[client]
	for _, o := range p.orders {
		named := slices.Contains(o.clients, client)
		any := len(o.clients) == 0 && len(o.affected) == 0
		if o.point == point && (named || any) && !(o.kill && process == nil && point == AfterQuorum) {
			o.affected = append(o.affected, client)
			return o, process
		}
	}
	return nil, nil
}
