// Package virtual is the driver of masters in memory for code that uses the packages net and
// time directly: any Go lock, unmodified, over any client library. In a testing/synctest bubble
// its time is virtual.
//
//	goroutine ─► net.Conn ─► world.Live ─► Link ─► Master ─► Link ─► net.Conn
//	             Dial         one at a   hold,   RESP,     latency
//	                          time       drop    Lua
//
// The masters, their disks, clocks, replicas and links are those of the package sim: its World
// follows the clock of the package time here, and its masters speak Redis's protocol over
// streams.
package virtual

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim"
	"lockpick/cluster/sim/world"
)

// Driver is the name of this driver.
const Driver = "virtual"

// Version is the version that the masters report.
const Version = sim.Version

// Cluster runs masters in memory. It implements cluster.Cluster, and its methods are safe for
// concurrent use.
type Cluster struct {
	live    *world.Live
	sim     *sim.Cluster
	masters []cluster.Master

	mu    sync.Mutex
	links map[string][]*link // by client
	dials atomic.Int64
	hosts []string       // clients, by the number in their addresses
	conns map[*conn]bool // open connections
}

// Options holds the options besides the masters' configuration.
type Options struct {
	Seed    uint64      // for latencies and all other random choices
	Network sim.Options // the zero value is a good local network; nothing is lost on it
}

// New makes masters that are up. If it is called in a bubble, Close must be called in it, too.
func New(cfg cluster.Config, opt Options) *Cluster {
	c := &Cluster{live: world.NewLive(opt.Seed), links: map[string][]*link{}, conns: map[*conn]bool{}}
	c.live.Call(func() {
		c.sim = sim.New(c.live.World, cfg, opt.Network)
		for _, m := range c.sim.Masters() {
			c.masters = append(c.masters, &master{c, m})
		}
	})
	return c
}

// Driver returns "virtual".
func (c *Cluster) Driver() string { return Driver }

// Version returns the version of the Redis with whose behaviour the masters' was compared.
func (c *Cluster) Version() string { return Version }

// Server returns the name of the server that is simulated.
func (c *Cluster) Server() string { return "redis" }

// Masters returns m1, m2, …
func (c *Cluster) Masters() []cluster.Master { return c.masters }

// Shim returns nil: the faults of clocks and disks are always available.
func (c *Cluster) Shim() error { return nil }

// Link returns a client's link to a master.
func (c *Cluster) Link(client string, master int) (cluster.Link, error) {
	if master < 0 || master >= len(c.masters) {
		return nil, fmt.Errorf("link of %s to master %d: there are %d masters", client, master+1, len(c.masters))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.links[client] == nil {
		host := len(c.hosts) + 1
		if host > 200 {
			return nil, fmt.Errorf("link of %s: there are %d clients already", client, len(c.hosts))
		}
		var all []*link
		var problem error
		c.live.Call(func() {
			for i := range c.masters {
				l, err := c.sim.Link(client, i)
				if err != nil {
					problem = err
					return
				}
				// Addresses of 240.0.0.0/4 exist nowhere: a lock that forgets Dial reaches no real Redis.
				all = append(all, &link{cluster: c, master: i, link: l.(*sim.Link), address: fmt.Sprintf("240.0.%d.%d:6379", host, i+1)})
			}
		})
		if problem != nil {
			return nil, problem
		}
		c.hosts, c.links[client] = append(c.hosts, client), all
	}
	return c.links[client][master], nil
}

// Addrs returns the addresses of the masters for a client: IP addresses, so that no library
// resolves names.
func (c *Cluster) Addrs(client string) ([]string, error) {
	var all []string
	for i := range c.masters {
		l, err := c.Link(client, i)
		if err != nil {
			return nil, err
		}
		all = append(all, l.Addr())
	}
	return all, nil
}

// DialContext connects to an address of Addrs.
func (c *Cluster) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: addr(address), Err: err}
	}
	l := c.at(address)
	if l == nil {
		return fail(fmt.Errorf("no master is there: dial the addresses that were given to the client"))
	}
	c.dials.Add(1)
	x := &conn{cluster: c, master: l.master, address: addr(address), wake: make(chan struct{}, 1)}
	var err error
	c.mu.Lock()
	x.follow = l.follow
	c.mu.Unlock()
	c.live.Call(func() {
		if x.stream, err = l.link.Open(x.rouse); err == nil && x.follow != nil {
			x.stream.Watch()
		}
	})
	// The handshake takes a round trip.
	shook := time.NewTimer(roundTrip)
	defer shook.Stop()
	select {
	case <-shook.C:
	case <-ctx.Done():
		if x.stream != nil {
			x.Close()
		}
		return fail(context.Cause(ctx))
	}
	if err != nil {
		return fail(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[x] = true
	return x, nil
}

// roundTrip is the time that it takes to connect.
const roundTrip = time.Millisecond

// at returns the link with an address, or nil.
func (c *Cluster) at(address string) *link {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host).To4()
	if err != nil || ip == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	client, master := int(ip[2])-1, int(ip[3])-1
	if client < 0 || client >= len(c.hosts) || master < 0 || master >= len(c.masters) {
		return nil
	}
	if l := c.links[c.hosts[client]][master]; l.address == address {
		return l
	}
	return nil
}

// Account calls f with each command that changes keys of a master (0 is m1), and with all that masters do to
// keys by themselves, in the order of execution. f must neither wait nor call the cluster.
func (c *Cluster) Account(f func(master int, x cluster.Executed)) error {
	c.live.Call(func() { _ = c.sim.Account(f) })
	return nil
}

// OnUnmodelled calls f with each command of a client that the masters do not know.
func (c *Cluster) OnUnmodelled(f func(master, what string)) {
	c.live.Call(func() { c.sim.OnUnmodelled(f) })
}

// Settled returns at once: steps are passed on when they happen.
func (c *Cluster) Settled(context.Context, int) error { return nil }

// Calls returns the number of calls into the simulation so far. It may be called from outside
// of the bubble, to find out whether time stands still in it.
func (c *Cluster) Calls() int64 { return c.live.Calls() }

// Dials returns the number of connections that clients have tried to open so far. It may be
// called from outside of the bubble.
func (c *Cluster) Dials() int64 { return c.dials.Load() }

// Close ends the masters and every connection.
func (c *Cluster) Close() error {
	c.live.Call(func() { c.sim.Close() })
	c.mu.Lock()
	open := c.conns
	c.conns = map[*conn]bool{}
	c.mu.Unlock()
	for x := range open {
		x.Close()
	}
	c.live.End()
	return nil
}

// master is a cluster.Master for goroutines.
type master struct {
	cluster *Cluster
	inner   cluster.Master
}

func (m *master) Name() string { return m.inner.Name() }

func (m *master) State() (s cluster.State) {
	m.cluster.live.Call(func() { s = m.inner.State() })
	return s
}

// do runs a call as a coroutine of the world. If ctx has already ended, do only returns its
// cause; a call that has begun is completed.
func (m *master) do(ctx context.Context, f func(context.Context) error) (err error) {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	err = cluster.ErrClosed
	m.cluster.live.Do(func() { err = f(context.Background()) })
	return err
}

func (m *master) Pause(ctx context.Context) error       { return m.do(ctx, m.inner.Pause) }
func (m *master) Resume(ctx context.Context) error      { return m.do(ctx, m.inner.Resume) }
func (m *master) Kill(ctx context.Context) error        { return m.do(ctx, m.inner.Kill) }
func (m *master) Shutdown(ctx context.Context) error    { return m.do(ctx, m.inner.Shutdown) }
func (m *master) Start(ctx context.Context) error       { return m.do(ctx, m.inner.Start) }
func (m *master) DrainMemory(ctx context.Context) error { return m.do(ctx, m.inner.DrainMemory) }

func (m *master) SetClock(ctx context.Context, x cluster.Clock) error {
	return m.do(ctx, func(ctx context.Context) error { return m.inner.SetClock(ctx, x) })
}

func (m *master) SetDisk(ctx context.Context, d cluster.Disk) error {
	return m.do(ctx, func(ctx context.Context) error { return m.inner.SetDisk(ctx, d) })
}

func (m *master) CutPower(ctx context.Context, p cluster.Power) (cut cluster.Cut, err error) {
	err = m.do(ctx, func(ctx context.Context) error {
		cut, err = m.inner.CutPower(ctx, p)
		return err
	})
	return cut, err
}

func (m *master) FillMemory(ctx context.Context, bytes int64) error {
	return m.do(ctx, func(ctx context.Context) error { return m.inner.FillMemory(ctx, bytes) })
}

func (m *master) HoldReplication(ctx context.Context, held bool) error {
	return m.do(ctx, func(ctx context.Context) error { return m.inner.HoldReplication(ctx, held) })
}

func (m *master) Failover(ctx context.Context, t cluster.Takeover) error {
	return m.do(ctx, func(ctx context.Context) error { return m.inner.Failover(ctx, t) })
}

func (m *master) Inspect(ctx context.Context, keys []string) (look cluster.Snapshot, err error) {
	err = m.do(ctx, func(ctx context.Context) error {
		look, err = m.inner.Inspect(ctx, keys)
		return err
	})
	return look, err
}

// link is a cluster.Link for goroutines.
type link struct {
	cluster *Cluster
	master  int // 0 is m1
	link    *sim.Link
	address string
	follow  func(cluster.Exchange) // of new connections; nil: nobody follows them
}

// Observe follows the connections that are opened from now on.
func (l *link) Observe(o cluster.Observer) {
	l.cluster.mu.Lock()
	defer l.cluster.mu.Unlock()
	l.follow = o.Exchange
}

func (l *link) Addr() string { return l.address }

func (l *link) Set(f cluster.LinkFault) { l.cluster.live.Call(func() { l.link.Set(f) }) }
func (l *link) Reset()                  { l.cluster.live.Call(l.link.Reset) }

func (l *link) Fault() (f cluster.LinkFault) {
	l.cluster.live.Call(func() { f = l.link.Fault() })
	return f
}

func (l *link) Counts() (n cluster.LinkCounts) {
	l.cluster.live.Call(func() { n = l.link.Counts() })
	return n
}

// addr is the address of a master.
type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

var (
	_ cluster.Cluster     = (*Cluster)(nil)
	_ cluster.Accountable = (*Cluster)(nil)
	_ cluster.Simulated   = (*Cluster)(nil)
	_ cluster.Observable  = (*link)(nil)
)
