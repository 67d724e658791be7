package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/sim/world"
)

var errNoReplicas = fmt.Errorf("%w: the masters have no replicas; ask for 1 or 2 of each", cluster.ErrUnavailable)

// replica is the state of one of a master's replicas. It is not a server until it is promoted.
type replica struct {
	keys    map[string]keyspace.Value
	pending []shipment // changes on their way to it, in order
	latest  int64      // arrival of the last change
	held    bool       // no changes arrive
}

type shipment struct {
	change
	due int64
}

// resync gives all replicas that are up a copy of the master's keys.
func (m *Master) resync(up int) {
	m.replicas = m.replicas[:0]
	for range up {
		m.replicas = append(m.replicas, &replica{keys: m.store.All(), latest: m.world.Now()})
	}
}

// ship sends a change to the replicas. All changes of a step arrive at the same time.
func (m *Master) ship(c change) {
	for _, r := range m.replicas {
		r.catchUp(m.world.Now())
		if c.first {
			r.latest = max(m.world.Now()+m.lag(), r.latest+int64(cluster.ShipChange))
		}
		r.pending = append(r.pending, shipment{c, r.latest})
	}
}

func (m *Master) lag() int64 {
	return int64(cluster.Lag(float64(m.world.Intn(1<<30, world.WhatLag)) / (1 << 30)))
}

// catchUp applies the changes that have arrived: all of a step, or none.
func (r *replica) catchUp(now int64) {
	n := 0
	for n < len(r.pending) && !r.held && r.pending[n].due <= now {
		apply(r.keys, r.pending[n].change)
		n++
	}
	r.pending = slices.Delete(r.pending, 0, n)
}

// acknowledged returns the number of replicas that have all changes until now, if the caller
// waits for enough of them until a time, and the time at which the wait ends.
func (m *Master) acknowledged(want int64, until int64) (n int64, at int64) {
	var times []int64
	for _, r := range m.replicas {
		if r.catchUp(m.world.Now()); r.held && len(r.pending) > 0 {
			continue
		}
		times = append(times, max(r.latest, m.world.Now()))
	}
	slices.Sort(times)
	at = m.world.Now()
	for _, t := range times {
		if t > at && (n >= want || t > until) {
			break
		}
		n, at = n+1, max(at, t)
	}
	if n < want {
		at = until
	}
	return n, at
}

// wait implements the command WAIT: it replies with the number of replicas that have
// everything, as soon as there are enough, otherwise at its timeout.
func wait(m *Master, args []string) keyspace.Reply {
	want, ok := keyspace.Integer(args[0])
	if !ok {
		return keyspace.Error(notInteger)
	}
	timeout, ok := keyspace.Integer(args[1])
	switch {
	case !ok:
		return keyspace.Error("ERR timeout is not an integer or out of range")
	case timeout < 0:
		return keyspace.Error("ERR timeout is negative")
	}
	now := m.world.Now()
	until := now + timeout*int64(time.Millisecond)
	if timeout == 0 {
		until = keyspace.Never
	}
	n, at := m.acknowledged(want, until)
	r := keyspace.Int(n)
	if r.Later = time.Duration(at - now); at == keyspace.Never {
		r.Later = -1
	}
	return r
}

// HoldReplication stops or continues the replication to the replica that would be promoted.
func (m *Master) HoldReplication(ctx context.Context, held bool) error {
	return m.act(ctx, "hold the replication of", signalTime, func() error {
		if m.cluster.config.Replicas == 0 && held {
			return errNoReplicas
		}
		m.hold(held)
		return nil
	})
}

func (m *Master) hold(held bool) {
	m.held = held
	if len(m.replicas) == 0 {
		return
	}
	r := m.replicas[0]
	r.catchUp(m.world.Now())
	if r.held && !held {
		for i := range r.pending {
			if r.pending[i].first {
				r.latest = max(m.world.Now()+m.lag(), r.latest)
			}
			r.pending[i].due = r.latest
		}
	}
	r.held = held
}

// Failover ends the server and puts a replica in its place, with the changes that have arrived
// there. After the next Start the killed server is a replica.
func (m *Master) Failover(ctx context.Context, t cluster.Takeover) error {
	return m.act(ctx, "fail over", signalTime, func() error {
		switch {
		case m.cluster.config.Replicas == 0:
			return errNoReplicas
		case len(m.replicas) == 0:
			return errors.New("none of its replicas is up; start it first")
		}
		heir, up := m.replicas[0], len(m.replicas)-1
		heir.catchUp(m.world.Now())
		m.replicas = nil
		if len(t.Apart) > 0 && m.state == cluster.Up {
			m.splitBrain(t.Apart)
		}
		m.die()
		if t.Ended != nil {
			t.Ended()
		}
		m.pass(t.Outage + m.cluster.effort(signalTime))
		if m.cluster.closed {
			return cluster.ErrClosed
		}
		m.disk.replace(heir.keys)
		m.disk.load()
		m.begin(heir.keys) // the keys in its memory, also if none is on its disk
		m.resync(up)
		m.hold(m.held)
		return nil
	})
}

// splitBrain leaves some clients connected to the old server, as a second primary.
func (m *Master) splitBrain(clients []string) {
	old := &Master{
		cluster: m.cluster, world: m.world, name: m.name, number: m.number, state: m.state, run: m.run, runID: m.runID,
		wall: m.wall, failures: m.failures, scripts: m.scripts, latest: m.latest, connections: m.connections,
	}
	old.newStore()
	old.disk.init(old, cluster.None)
	old.store.Load(m.store.All())
	old.prepare()
	if m.account != nil {
		old.account = &account{master: old}
		old.store.Watch = old.account.note
	}
	m.apart = old
	for _, c := range clients {
		m.cluster.linksOf(c)[m.number-1].master = old
	}
	belongs := func(x *Stream) bool { return x.link.master == old }
	m.waiting.moveTo(&old.waiting, belongs)
	old.trackers, old.listeners = theirs(m.trackers, belongs), theirs(m.listeners, belongs)
	old.planTimeouts()
	old.planExpiry()
}

// theirs returns the streams that belong to the old server.
func theirs(all []*Stream, belongs func(*Stream) bool) []*Stream {
	return slices.DeleteFunc(slices.Clone(all), func(x *Stream) bool { return !belongs(x) })
}

// endSplitBrain ends the second primary, if there is one.
func (m *Master) endSplitBrain() {
	if m.apart == nil {
		return
	}
	m.apart.die()
	for _, links := range m.cluster.links {
		links[m.number-1].master = m
	}
	m.apart = nil
}
