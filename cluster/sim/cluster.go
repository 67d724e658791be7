package sim

import (
	"fmt"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim/world"
)

// Driver is the name of this driver.
const Driver = "sim"

// Version is the version that simulated masters report: that of the Redis with whose behaviour
// theirs was compared.
const Version = serverVersion + " (simulated)"

const serverVersion = "7.0.15"

// Options describes the network and the hosts of the masters. The zero value is a good local
// network.
type Options struct {
	Latency   Latency       // of one message, one way
	Loss      float64       // probability that a message is lost, and its connection hangs
	Duplicate float64       // probability that a request arrives twice
	Late      float64       // probability that a request is held back, so that later ones overtake it,
	LateBy    time.Duration // the longest time for which it is held back; 0: 1 s
	Fsync     time.Duration // duration of an fsync on a good disk; 0: 500 µs
}

// Latency is the range of travel times of messages: uniformly from Min to Max, except for a
// fraction of slow messages, from Max to SlowMax. The zero value is 100 µs to 1 ms.
type Latency struct {
	Min, Max time.Duration
	Slow     float64
	SlowMax  time.Duration
}

func (o Options) complete() Options {
	if o.Latency == (Latency{}) {
		o.Latency = Latency{Min: 100 * time.Microsecond, Max: time.Millisecond}
	}
	o.Latency.Max = max(o.Latency.Max, o.Latency.Min)
	o.Latency.SlowMax = max(o.Latency.SlowMax, o.Latency.Max)
	if o.LateBy == 0 {
		o.LateBy = time.Second
	}
	if o.Fsync == 0 {
		o.Fsync = 500 * time.Microsecond
	}
	return o
}

// Cluster holds the masters of a World. It implements cluster.Cluster. Only coroutines of that
// world may call the methods that take time.
type Cluster struct {
	world    *world.World
	spares   *spares
	config   cluster.Config
	options  Options
	masters  []*Master
	links    map[string][]*Link
	closed   bool
	observer func(master int, x cluster.Executed) // nil: there is none

	unmodelled func(master, what string) // nil: nobody wants to know
	steady     bool                      // the network does not lose, duplicate or hold back messages
	state      []byte                    // the memory of State
}

// New makes masters that are up.
func New(w *world.World, cfg cluster.Config, opt Options) *Cluster {
	if cfg.Masters == 0 {
		cfg.Masters = 5
	}
	if cfg.Persistence == "" {
		cfg.Persistence = cluster.None
	}
	c := &Cluster{world: w, spares: sparesOf(w), config: cfg, options: opt.complete(), links: map[string][]*Link{}}
	c.steady = c.options.Loss <= 0 && c.options.Duplicate <= 0 && c.options.Late <= 0
	for i := range cfg.Masters {
		c.masters = append(c.masters, newMaster(c, i))
	}
	return c
}

// OnUnmodelled calls f with each command of a client that the masters do not know.
func (c *Cluster) OnUnmodelled(f func(master, what string)) { c.unmodelled = f }

// Driver returns "sim".
func (c *Cluster) Driver() string { return Driver }

// Version returns the version of the Redis that is simulated.
func (c *Cluster) Version() string { return Version }

// Server returns the name of the server that is simulated.
func (c *Cluster) Server() string { return "redis" }

// Masters returns m1, m2, …
func (c *Cluster) Masters() []cluster.Master {
	var out []cluster.Master
	for _, m := range c.masters {
		out = append(out, m)
	}
	return out
}

// Link returns a client's link to a master. No server listens at its address: clients use
// ClientMasters.
func (c *Cluster) Link(client string, master int) (cluster.Link, error) {
	if c.closed {
		return nil, fmt.Errorf("link of %s to master %d: %w", client, master+1, cluster.ErrClosed)
	}
	if master < 0 || master >= len(c.masters) {
		return nil, fmt.Errorf("link of %s to master %d: there are %d masters", client, master+1, len(c.masters))
	}
	return c.linksOf(client)[master], nil
}

func (c *Cluster) linksOf(client string) []*Link {
	links := c.links[client]
	if links == nil {
		links = make([]*Link, 0, len(c.masters))
		all := make([]Link, len(c.masters))
		for i, m := range c.masters {
			all[i] = Link{cluster: c, world: c.world, client: c.world.ClientRuntime(client), master: m}
			links = append(links, &all[i])
		}
		c.links[client] = links
	}
	return links
}

// ClientMasters returns the masters for a client's lock. It uses the client's links, and
// measures timeouts by the client's clock (World.ClientRuntime).
func (c *Cluster) ClientMasters(client string) *Masters {
	return newMasters(c, client)
}

// Shim returns nil: the faults of clocks and disks are always available.
func (c *Cluster) Shim() error { return nil }

// Close ends all masters. Messages on their way to them are lost.
func (c *Cluster) Close() error {
	c.closed = true
	for _, m := range c.masters {
		m.endSplitBrain()
		m.die()
	}
	return nil
}

// latency draws the travel time of a message.
func (c *Cluster) latency() time.Duration {
	l := &c.options.Latency
	from, to := l.Min, l.Max
	if c.world.Chance(l.Slow, world.WhatSpike) {
		from, to = l.Max, l.SlowMax
	}
	return from + time.Duration(c.world.Intn(int(to-from)+1, world.WhatLatency))
}

// effort draws the duration of an action of a host: from d to twice d.
func (c *Cluster) effort(d time.Duration) time.Duration {
	return d + c.world.UpTo(d, world.WhatEffort)
}

// Stored returns the value under a key of a master that is up, immediately and without using
// links, as a map with that key only, or an empty one if there is no such key.
func (c *Cluster) Stored(master, key string) map[string]string {
	for _, m := range c.masters {
		if m.name == master {
			return m.snapshot([]string{key}).Keys
		}
	}
	return nil
}
