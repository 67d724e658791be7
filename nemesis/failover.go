package nemesis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/history/fault"
)

// newFailover ends a master just after it has granted a lock. The replica that takes its place
// has usually not received that grant yet.
//
// The outage is as long as with Redis Sentinel: down-after until Sentinel notices, here an eighth
// of the TTL, and then its election. A run with a TTL below 10 s is a shortened version of one
// with 10 s, so the election is shortened in proportion.
func newFailover(n *Nemesis, f *injection) effect {
	outage := f.step.Outage
	if outage == 0 {
		scale := min(1, n.env.TTL.Seconds()/10)
		outage = n.env.TTL/8 + time.Duration(scale*float64(cluster.ElectionTime(f.draw)))
		outage = outage.Round(time.Microsecond)
	}
	f.params["outage"] = outage.String()
	x := &failover{n: n, f: f, takeover: cluster.Takeover{Outage: outage}}
	if f.step.SplitBrain {
		if f.clients == nil {
			f.clients = n.env.Clients[:(len(n.env.Clients)+1)/2]
		}
		f.params["split-brain"] = strings.Join(f.clients, " ")
		x.takeover.Apart = f.clients
	}
	return x
}

type failover struct {
	n        *Nemesis
	f        *injection
	takeover cluster.Takeover

	mu   sync.Mutex
	lost []string
}

func (x *failover) install(ctx context.Context) error {
	if !x.f.step.guided {
		x.n.watch.await(x.f.run, 2*x.n.env.TTL, x.grantedHere)
	}
	err := x.n.each(x.f.masters, func(m cluster.Master) error {
		takeover := x.takeover
		takeover.Ended = func() { x.n.recordDown(m) }
		if err := m.Failover(ctx, takeover); err != nil {
			return err
		}
		x.n.recordState(m, nil) // immediately, because the successor grants locks already
		// Read the votes only now: those on the lease that the failover waited for arrive one by
		// one.
		stored := x.n.watch.stored(x.n.now())
		looking, cancel := x.n.within(ctx, lookRunning)
		defer cancel()
		look, err := m.Inspect(looking, x.n.keys())
		if err != nil {
			return nil // another fault has hit the master already
		}
		x.n.recordState(m, &look)
		x.mu.Lock()
		defer x.mu.Unlock()
		has := look.Tokens()
		for key, token := range stored[m.Name()] {
			if x.n.keys() != nil && has != nil && !slices.Contains(slices.Collect(maps.Values(has)), token) {
				x.lost = append(x.lost, m.Name()+" lost "+key)
			}
		}
		return nil
	})
	return err
}

// grantedHere reports whether an operation shows that one of the masters has just granted a lock.
func (x *failover) grantedHere(op history.Op) bool {
	return op.F == history.FVote && op.Value.Command == history.CommandSet && op.Value.Yes && slices.Contains(x.f.masterNames(), op.Process)
}

// startEvery is the time between two tries to start a primary whose successor is stopped.
const startEvery = 10 * time.Millisecond

// stops reports whether a fault that is installed stops a master.
func (n *Nemesis) stops(m cluster.Master) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.active {
		if f.kind.Process == fault.Stops && slices.Contains(f.masters, m) {
			return true
		}
	}
	return false
}

func (x *failover) heal(ctx context.Context) (proof, string, error) {
	// The old primary returns as a replica of its successor.
	err := x.n.each(x.f.masters, func(m cluster.Master) error {
		for {
			err := m.Start(ctx)
			if !errors.Is(err, cluster.ErrPaused) || !x.n.stops(m) {
				return err
			}
			if err := x.n.env.Runtime.Sleep(ctx, startEvery); err != nil { // until the fault that has stopped the successor heals
				return err
			}
		}
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	slices.Sort(x.lost)
	lost := "no lock was lost"
	if len(x.lost) > 0 {
		lost = strings.Join(x.lost, "; ")
	}
	split := ""
	if len(x.takeover.Apart) > 0 {
		split = fmt.Sprintf(", which lived on for %s", strings.Join(x.takeover.Apart, " "))
	}
	return proven, fmt.Sprintf("after %v a replica took the place of %s%s; %s", rounded(x.takeover.Outage), strings.Join(x.f.masterNames(), " "), split, lost), err
}

// stored returns, for each master, the tokens of the held leases for which it voted, by key.
func (w *watch) stored(now time.Duration) map[string]map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]map[string]string{}
	for token, l := range w.held {
		if l.until <= now {
			continue
		}
		for _, m := range w.voters[token] {
			if found[m] == nil {
				found[m] = map[string]string{}
			}
			if before := w.held[found[m][l.key]]; before == nil || before.since < l.since {
				found[m][l.key] = token
			}
		}
	}
	return found
}

func init() {
	implement("failover", implementation{new: newFailover, shape: func(_ *Nemesis, plan Plan, s *Step) {
		s.Outage, s.SplitBrain = plan.Outage, plan.SplitBrain
	}})
}
