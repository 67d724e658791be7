package search

import (
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/workload"
)

// The steps of the protocol in which a client can be when a fault strikes.
const (
	Idle      = "idle"      // it neither has nor wants the lock
	Acquiring = "acquiring" // a command to a master is in flight
	Waiting   = "waiting"   // between two attempts
	Holding   = "holding"   // the lock was granted, and its release has not begun
	Extending = "extending"
	Releasing = "releasing"
)

// ProtocolSteps lists the steps in the order in which a client goes through them.
var ProtocolSteps = []string{Idle, Acquiring, Waiting, Holding, Extending, Releasing}

// Coverage counts, for each kind of fault and each step of the protocol, how often a fault
// struck while a client was in that step. A fault counts once for each client that it could
// affect: those that it names, or all.
type Coverage map[string]map[string]int

// add adds the strikes of a history.
func (c Coverage) add(strikes []Strike) {
	for _, s := range strikes {
		if c[s.Fault.Name] == nil {
			c[s.Fault.Name] = map[string]int{}
		}
		c[s.Fault.Name][s.Step]++
	}
}

// Strike is a fault, a client that it could affect, and the step in which the client was when the fault
// struck.
type Strike struct {
	Fault  *history.Fault
	Client string
	Step   string // one of ProtocolSteps
}

// Strikes returns all strikes of a history, in the order of its faults.
func Strikes(h *history.History) (all []Strike) {
	var phases map[string][]phase
	for _, f := range history.Faults(h.Ops) {
		if !f.Installed {
			continue
		}
		if phases == nil {
			phases = phasesOf(h.Ops)
		}
		clients := workload.Clients(h.Header.Clients)
		kind := fault.Of(f.Name)
		if (kind.Hits == fault.Links || kind.Hits == fault.Clients) && len(f.Clients) > 0 {
			clients = f.Clients
		}
		for _, client := range clients {
			all = append(all, Strike{f, client, stepAt(phases[client], f.From)})
		}
	}
	return all
}

// merge adds the counts of another coverage.
func (c Coverage) merge(other Coverage) {
	for kind, steps := range other {
		if c[kind] == nil {
			c[kind] = map[string]int{}
		}
		for step, n := range steps {
			c[kind][step] += n
		}
	}
}

// phase is a client's step of the protocol from a time on.
type phase struct {
	from time.Duration
	step string
}

// stepAt returns the step in which a client was at a time.
func stepAt(phases []phase, t time.Duration) string {
	i, _ := slices.BinarySearchFunc(phases, t, func(p phase, t time.Duration) int {
		if p.from <= t {
			return -1
		}
		return 1
	})
	if i == 0 {
		return Idle
	}
	return phases[i-1].step
}

// phasesOf returns the phases of every client of a history, in order of time.
func phasesOf(ops []history.Op) map[string][]phase {
	all := map[string][]phase{}
	began := map[string]time.Duration{} // start of the acquire that has not returned, by client
	enter := func(client string, from time.Duration, step string) {
		all[client] = append(all[client], phase{from, step})
	}
	for i := range ops {
		op := &ops[i]
		switch {
		case op.F == history.FVote && op.Value != nil:
			// During an acquire, a client waits whenever no vote is in flight. A vote is recorded when it
			// closes, and may belong to an earlier acquire.
			client := op.Value.Client
			since, open := began[client]
			if !open {
				continue
			}
			p, sent := all[client], max(op.Time-op.Value.Took, since)
			for len(p) > 0 && p[len(p)-1].from >= sent {
				p = p[:len(p)-1]
			}
			all[client] = append(p, phase{sent, Acquiring}, phase{op.Time, Waiting})
		case op.F == history.FAcquire && op.Type == history.Invoke:
			began[op.Process] = op.Time
			enter(op.Process, op.Time, Waiting)
		case op.F == history.FAcquire && op.Type == history.OK:
			delete(began, op.Process)
			enter(op.Process, op.Time, Holding)
		case op.F == history.FAcquire, op.F == history.FCrash:
			delete(began, op.Process)
			enter(op.Process, op.Time, Idle)
		case op.F == history.FExtend && op.Type == history.Invoke:
			enter(op.Process, op.Time, Extending)
		case op.F == history.FExtend:
			enter(op.Process, op.Time, Holding)
		case op.F == history.FRelease && op.Type == history.Invoke:
			enter(op.Process, op.Time, Releasing)
		case op.F == history.FRelease:
			enter(op.Process, op.Time, Idle)
		}
	}
	return all
}
