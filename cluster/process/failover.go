package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/resp"
)

// A master with replicas consists of several servers, of which one is the primary. Each server
// has a link of its own, its feed, through which it replicates; a feed leads to the current
// primary. The feed delays each change, as a network and a busy server would (see Lag). A
// change in the feed has left the primary and has not reached the replica, not even its kernel,
// so a failover certainly loses it.

// errNoReplicas says that there is no replica for a failover.
var errNoReplicas = fmt.Errorf("%w: the masters have no replicas; ask for 1 or 2 of each", cluster.ErrUnavailable)

// syncWithin limits the time in which a replica must get its master's data.
const syncWithin = 20 * time.Second

// replicate starts the replicas of a new master.
func (g *group) replicate(ctx context.Context, m *master, sites []Site, engine Build) error {
	for _, s := range sites {
		replica, err := g.launch(ctx, s, engine)
		if replica != nil {
			m.mu.Lock()
			m.standby = append(m.standby, replica)
			m.mu.Unlock()
		}
		if err != nil {
			return err
		}
	}
	for _, s := range m.servers() {
		feed, err := cluster.NewLink(func() string { return m.now().addr },
			cluster.LinkOptions{Own: g.serversAreOwn(), Dial: g.dial, Password: s.Password, Lag: func() time.Duration { return cluster.Lag(rand.Float64()) }})
		if err != nil {
			return err
		}
		s.feed = feed
	}
	for _, s := range m.servers()[1:] {
		if err := m.follow(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// follow makes a server a replica of the master. It returns when the server has the master's
// data, unless replication is held or the master is not up.
func (m *master) follow(ctx context.Context, s *server) error {
	host, port, err := net.SplitHostPort(s.feed.Addr())
	if err != nil {
		return err
	}
	client := s.inspection()
	if client == nil {
		return fmt.Errorf("make %s a replica of %s: %w", s.Name, m.name, cluster.ErrDown)
	}
	if err := client.ReplicaOf(ctx, host, port).Err(); err != nil {
		return fmt.Errorf("make %s a replica of %s: REPLICAOF: %w", s.Name, m.name, err)
	}
	online := fmt.Sprintf("port=%d,state=online", s.Port)
	for began := time.Now(); !m.held && m.State() == cluster.Up; {
		// Wait until the replica has the data, its append-only file has it, too (it is being
		// rewritten then), and the master counts the replica's acknowledgements.
		own, err := client.Info(ctx, "replication").Result()
		file, persistenceErr := client.Info(ctx, "persistence").Result()
		seen, masterErr := "", error(nil)
		if c := m.now().inspection(); c != nil {
			seen, masterErr = c.Info(ctx, "replication").Result()
		}
		err = errors.Join(err, persistenceErr, masterErr)
		if err == nil && resp.Info(own)["master_link_status"] == "up" && strings.Contains(seen, online) &&
			resp.Info(file)["aof_rewrite_in_progress"] == "0" && resp.Info(file)["aof_rewrite_scheduled"] == "0" {
			return nil
		}
		if time.Since(began) > syncWithin {
			return fmt.Errorf("%s does not have the data of %s within %v (last error: %v); its log (%s) ends:\n%s", s.Name, m.name, syncWithin, err, s.log.path, s.log.tail())
		}
		if !Sleep(ctx, 5*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// rejoin makes replicas of the servers that are down, and of a primary that lives on.
func (m *master) rejoin(ctx context.Context) error {
	if s := m.endSplitBrain(); s != nil && s.State() != cluster.Down {
		if err := m.follow(ctx, s); err != nil {
			return err
		}
	}
	for _, s := range m.servers()[1:] {
		if s.State() != cluster.Down {
			continue
		}
		if err := restart(ctx, s); err != nil {
			return fmt.Errorf("start %s as a replica: %w", s.Name, err)
		}
		if err := m.follow(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (m *master) HoldReplication(ctx context.Context, held bool) error {
	what := "hold the replication of"
	if !held {
		what = "let go the replication of"
	}
	return m.act(ctx, what, func(context.Context) error {
		if len(m.servers()) == 1 {
			if !held {
				return nil
			}
			return errNoReplicas
		}
		m.held = held
		m.setFeeds()
		return nil
	})
}

// setFeeds applies m.held to the feeds: it holds the feed of the replica that would be
// promoted.
func (m *master) setFeeds() {
	next := m.successor()
	for _, s := range m.servers() {
		if m.held && s == next {
			s.feed.Set(cluster.LinkFault{Replies: cluster.Hold})
		} else {
			s.feed.Set(cluster.LinkFault{})
		}
	}
}

// successor returns the replica that a failover promotes; nil: there is none.
func (m *master) successor() *server {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.standby {
		if s != m.apart && s.State() == cluster.Up {
			return s
		}
	}
	return nil
}

func (m *master) Failover(ctx context.Context, t cluster.Takeover) error {
	return m.act(ctx, "fail over", func(ctx context.Context) error {
		all := m.servers()
		if len(all) == 1 {
			return errNoReplicas
		}
		old, next := all[0], m.successor()
		if next == nil {
			return errors.New("none of its replicas is up; start it first")
		}
		for _, s := range all { // this loses the changes that the feeds hold
			s.feed.Set(cluster.LinkFault{Replies: cluster.Hold})
		}
		defer m.setFeeds()
		if len(t.Apart) > 0 && old.State() == cluster.Up {
			m.splitBrain(ctx, old, t.Apart)
		} else if old.State() != cluster.Down {
			if err := old.kill(ctx, "fail over from"); err != nil {
				return err
			}
		}
		if t.Ended != nil {
			t.Ended()
		}
		Sleep(ctx, t.Outage)
		for _, s := range all {
			s.feed.Reset()
		}
		err := promote(context.WithoutCancel(ctx), next, m.name)
		if err == nil {
			m.account.attach(ctx, next)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.electing = false
		if err != nil {
			m.apart, m.apartFor = nil, nil
			return err
		}
		m.primary = next
		m.standby[slices.Index(m.standby, next)] = old
		return nil
	})
}

// promote makes a replica the primary with the given name.
func promote(ctx context.Context, s *server, name string) error {
	client := s.inspection()
	if client == nil {
		return fmt.Errorf("promote %s: %w", s.Name, cluster.ErrDown)
	}
	s.log.mark("%s is now %s", s.Name, name)
	if err := client.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		return fmt.Errorf("promote %s: REPLICAOF NO ONE: %w", s.Name, err)
	}
	return nil
}

// splitBrain leaves some clients connected with the primary; all others lose their connections.
func (m *master) splitBrain(ctx context.Context, old *server, clients []string) {
	old.log.mark("%s lives on for %s alone", old.Name, strings.Join(clients, " "))
	m.mu.Lock()
	m.electing, m.apart, m.apartFor = true, old, clients
	m.mu.Unlock()
	for client, l := range m.links() {
		if !slices.Contains(clients, client) {
			l.Reset()
		}
	}
	m.account.leave(ctx)
}

// endSplitBrain ends the split brain, and returns the primary that has lived on; nil: there was
// none.
func (m *master) endSplitBrain() *server {
	m.mu.Lock()
	old, clients := m.apart, m.apartFor
	m.apart, m.apartFor = nil, nil
	m.mu.Unlock()
	if old == nil {
		return nil
	}
	m.account.join()
	for client, l := range m.links() {
		if slices.Contains(clients, client) {
			l.Reset()
		}
	}
	return old
}

// addrFor returns the address of the master for a client; empty: none.
func (m *master) addrFor(client string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.apart != nil && slices.Contains(m.apartFor, client):
		return m.apart.addr
	case m.electing || !m.account.admits(m.primary):
		return ""
	}
	return m.primary.addr
}
