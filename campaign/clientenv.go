package campaign

import (
	"maps"
	"slices"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/cluster/service/spec"
	"lockpick/history"
	"lockpick/workload"
)

// asProcesses returns the lock with clients that are processes: this program as lockpick client, or the
// command of the scenario.
func (c *campaign) asProcesses(lock workload.Implementation) workload.Implementation {
	lock.New = func(s workload.Env) (workload.Lock, error) { return c.opt.Drivers.Client(c.command(), s) }
	return lock
}

// clientEnv returns the environment of a client.
func (c *campaign) clientEnv(client string) (workload.Env, error) {
	field := "lock"
	if len(c.s.Client) > 0 {
		field = "client"
	}
	s := workload.Env{Refuse: func(says string) { c.fail(&scenario.Problem{Field: field, Says: says}) }}
	if c.sim != nil {
		s.Masters = c.sim.ClientMasters(client)
		if c.lint != nil {
			s.Masters = &lintedMasters{Masters: c.sim.ClientMasters(client), client: client, lint: c.lint, now: c.runtime.Now}
		}
		if err := c.placeClient(client); err != nil {
			return s, err
		}
		return s, nil
	}
	var links []cluster.Link
	for i := range c.masters.Masters() {
		link, err := c.masters.Link(client, i)
		if err != nil {
			return s, err
		}
		links = append(links, link)
		s.Addrs = append(s.Addrs, link.Addr())
	}
	if d, ok := c.masters.(dialer); ok {
		s.Dial = d.DialContext
	}
	if t, ok := c.masters.(cluster.Traced); ok {
		s.Env = append(s.Env, t.Mark(client))
	}
	if g, ok := c.masters.(cluster.Guarded); ok {
		s.Access = g.Access()
		s.Env = append(s.Env, s.Access.Env()...)
	}
	switch {
	case c.s.Service != nil:
		variables, err := ClientVariables(&c.s, s.Addrs)
		s.Env = append(s.Env, variables...)
		return s, err
	case c.account != nil && !c.account.OwnVotes:
		s.Observe = func(vote func(history.Op, time.Time)) { c.followLinks(client, links, vote) }
		s.Settle = func() bool { return c.account.Settle(client, c.s.TTL/10) }
	default:
		c.followLinks(client, links, nil)
	}
	return s, nil
}

// ClientVariables returns the environment that the description of a scenario's service wants for clients that reach its
// servers at these addresses.
func ClientVariables(s *scenario.Scenario, addrs []string) (all []string, err error) {
	if s.Service == nil {
		return nil, nil
	}
	env := s.Service.Clients.Env
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value, err := spec.Render(env[name], spec.Told{Addresses: addrs})
		if err != nil {
			return nil, err
		}
		all = append(all, name+"="+value)
	}
	return all, nil
}

// placeClient places a client near some of the simulated masters and apart from the others. Client i is near
// the masters i, i + number of clients, and so on.
func (c *campaign) placeClient(client string) error {
	if c.s.Network.Apart == 0 {
		return nil
	}
	at := slices.Index(workload.Clients(c.s.Clients), client)
	for i := range c.masters.Masters() {
		link, err := c.masters.Link(client, i)
		if err != nil {
			return err
		}
		if i%c.s.Clients != at {
			link.Set(cluster.LinkFault{Delay: c.s.Network.Apart})
		}
	}
	return nil
}
