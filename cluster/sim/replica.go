package sim

import (
	"context"
	"errors"
	"fmt"

	"lockpick/cluster"
)

// Replicas of a simulated master are not servers of their own: while replication is
// not held they have what the master has, at once, and while it is held the one that
// would be promoted has what it had then.

var errNoReplicas = fmt.Errorf("%w: the masters have no replicas; ask for 1 or 2 of each", cluster.ErrUnavailable)

// HoldReplication stops what the replica learns that would be promoted, or lets it catch up.
func (m *Master) HoldReplication(ctx context.Context, held bool) error {
	return m.act(ctx, "hold the replication of", signalTime, func() error {
		switch {
		case m.cluster.config.Replicas == 0 && held:
			return errNoReplicas
		case !held:
			m.held = nil
		case m.held == nil:
			m.held = m.store.all()
		}
		return nil
	})
}

// Failover ends the server and puts a replica in its place, with what that has. The
// server that was killed is a replica after the next Start.
func (m *Master) Failover(ctx context.Context) error {
	return m.act(ctx, "fail over", signalTime, func() error {
		switch {
		case m.cluster.config.Replicas == 0:
			return errNoReplicas
		case m.standby == 0:
			return errors.New("none of its replicas is up; start it first")
		}
		keys := m.held
		if keys == nil {
			keys = m.store.all()
		} else {
			m.held = cloneKeys(keys)
		}
		m.die()
		m.pass(m.world.effort(signalTime))
		if m.cluster.closed {
			return cluster.ErrClosed
		}
		m.standby--
		m.disk.replace(keys)
		m.begin()
		m.store.load(keys)
		return nil
	})
}

// replicated is how many replicas have everything.
func (m *Master) replicated() int {
	if m.held != nil {
		return max(0, m.standby-1)
	}
	return m.standby
}
