package nemesis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"lockpick/cluster"
	"lockpick/internal/plural"
)

// links lets faults on one link overlap: the link has the sum of the faults that are installed
// on it.
type links struct {
	cluster cluster.Cluster
	mu      sync.Mutex
	faults  map[cluster.Link]map[int]cluster.LinkFault // by the injection's id
}

func newLinks(c cluster.Cluster) *links {
	return &links{cluster: c, faults: map[cluster.Link]map[int]cluster.LinkFault{}}
}

func (l *links) add(link cluster.Link, id int, fault cluster.LinkFault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.faults[link] == nil {
		l.faults[link] = map[int]cluster.LinkFault{}
	}
	l.faults[link][id] = fault
	link.Set(sum(l.faults[link]))
}

func (l *links) remove(link cluster.Link, id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.faults[link], id)
	link.Set(sum(l.faults[link]))
}

// sum combines faults: dropping has precedence over holding, and delays add up.
func sum(faults map[int]cluster.LinkFault) cluster.LinkFault {
	var s cluster.LinkFault
	for _, id := range slices.Sorted(maps.Keys(faults)) {
		f := faults[id]
		s.Requests, s.Replies = worse(s.Requests, f.Requests), worse(s.Replies, f.Replies)
		s.Delay += f.Delay
		s.Refuse = s.Refuse || f.Refuse
	}
	return s
}

func worse(a, b cluster.Mode) cluster.Mode {
	switch {
	case a == cluster.Drop || b == cluster.Drop:
		return cluster.Drop
	case a == cluster.Hold || b == cluster.Hold:
		return cluster.Hold
	}
	return cluster.Pass
}

// newPartition cuts clients off from masters.
func newPartition(n *Nemesis, f *injection) effect {
	mode, direction := f.step.Mode, f.step.Direction
	if mode == cluster.Pass {
		mode = cluster.Drop
	}
	if direction == "" {
		direction = Both
	}
	f.params["mode"], f.params["direction"] = string(mode), direction
	e := &linkEffect{n: n, f: f}
	if direction != Replies {
		e.fault.Requests = mode
	}
	if direction != Requests {
		e.fault.Replies = mode
	}
	return e
}

// newSlow delays both directions. The default delay is longer than the lock's timeout per
// master.
func newSlow(n *Nemesis, f *injection) effect {
	delay := f.step.Delay
	if delay == 0 {
		delay = (n.env.TTL / 30).Round(100 * time.Microsecond)
	}
	f.params["delay"] = delay.String()
	return &linkEffect{n: n, f: f, fault: cluster.LinkFault{Delay: delay}}
}

// newReset breaks connections and refuses new ones.
func newReset(n *Nemesis, f *injection) effect {
	return &linkEffect{n: n, f: f, fault: cluster.LinkFault{Refuse: true}, reset: true}
}

// newPeers cuts servers of a service from all others.
func newPeers(n *Nemesis, f *injection) effect {
	mode := cmp.Or(f.step.Mode, cluster.Drop)
	f.params["mode"] = string(mode)
	return &linkEffect{n: n, f: f, fault: cluster.LinkFault{Requests: mode, Replies: mode}, peers: true}
}

type linkEffect struct {
	n      *Nemesis
	f      *injection
	fault  cluster.LinkFault
	reset  bool
	peers  bool // hits the links between masters
	links  []cluster.Link
	before []cluster.LinkCounts
}

func (e *linkEffect) install(context.Context) error {
	if e.peers {
		peered, ok := e.n.env.Cluster.(cluster.Peered)
		if !ok {
			return fmt.Errorf("%w: independent masters have no connections with each other", cluster.ErrUnavailable)
		}
		e.links = peered.Between(e.f.masters)
	} else if err := e.findLinks(); err != nil {
		return err
	}
	for _, l := range e.links {
		e.before = append(e.before, l.Counts())
		e.n.links.add(l, e.f.id, e.fault)
		if e.reset {
			l.Reset()
		}
	}
	return nil
}

// findLinks finds the links between the clients and the masters of the fault.
func (e *linkEffect) findLinks() error {
	for _, m := range e.f.masters {
		i := slices.Index(e.n.env.Cluster.Masters(), m)
		for _, c := range e.f.clients {
			link, err := e.n.env.Cluster.Link(c, i)
			if err != nil {
				e.links = nil // no link has been changed yet
				return err
			}
			e.links = append(e.links, link)
		}
	}
	return nil
}

func (e *linkEffect) heal(context.Context) (proof, string, error) {
	var d cluster.LinkCounts
	for i, l := range e.links {
		now, was := l.Counts(), e.before[i]
		d.Held += now.Held - was.Held
		d.Dropped += now.Dropped - was.Dropped
		d.Delayed += now.Delayed - was.Delayed
		d.Refused += now.Refused - was.Refused
		e.n.links.remove(l, e.f.id)
	}
	return e.proof(d), tell(d, len(e.links)), nil
}

// proof evaluates the counts of the links. Bytes that were lost or refused always had an
// effect. If bytes were only delayed, only the client that waited for them can tell whether
// they arrived too late; for a lock whose votes are unknown, it is enough that bytes were
// delayed. Another fault on the same link may have caused some of the counts.
func (e *linkEffect) proof(d cluster.LinkCounts) proof {
	touched, lost := d.Held+d.Dropped, d.Dropped
	switch {
	case e.fault.Refuse:
		touched, lost = d.Refused, d.Refused
	case e.fault.Delay > 0:
		touched, lost = d.Delayed, 0
	}
	switch {
	case touched == 0:
		return refuted
	case lost > 0 || !e.n.watch.hasVotes():
		return proven
	}
	return unproven
}

// tell describes the counts of links as text.
func tell(d cluster.LinkCounts, links int) string {
	var parts []string
	for _, x := range []struct {
		n         int64
		one, many string
	}{{d.Held, "byte held", "bytes held"}, {d.Dropped, "byte dropped", "bytes dropped"}, {d.Delayed, "byte delayed", "bytes delayed"}, {d.Refused, "connection refused", "connections refused"}} {
		if x.n > 0 {
			parts = append(parts, plural.Count(int(x.n), x.one, x.many))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing held, dropped, delayed or refused")
	}
	return strings.Join(parts, ", ") + " on " + plural.Count(links, "link", "links")
}

func init() {
	implement("partition", implementation{new: newPartition})
	implement("slow", implementation{new: newSlow})
	implement("reset", implementation{new: newReset})
	implement("peers", implementation{new: newPeers})
	implement("client-partition", implementation{new: newPartition, shape: func(n *Nemesis, _ Plan, s *Step) {
		// Longer than the lease is valid, and long enough for other clients to use theirs.
		s.For = 2*n.env.TTL + n.jitter(n.env.TTL/2)
		s.Direction = Both
		s.Clients = []string{Holder}
		if _, _, held := n.watch.latest(n.now()); !held {
			s.Clients = []string{Any}
		}
	}})
}
