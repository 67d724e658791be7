package nemesis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"lockpick/cluster"
)

var (
	errNoStart = errors.New("the append only file is corrupt")
	errNoPause = errors.New("permission denied")
)

// fakeCluster is masters and links in memory. Like real ones, masters take their time
// and mind their contexts: a call that is called off half way has half of an effect.
type fakeCluster struct {
	cluster.Cluster // nil: what the tests here have no use for
	masters         []cluster.Master
	mu              sync.Mutex
	links           map[string]*fakeLink
}

func newCluster(n int) *fakeCluster {
	c := &fakeCluster{links: map[string]*fakeLink{}}
	for i := range n {
		c.masters = append(c.masters, &fakeMaster{name: fmt.Sprintf("m%d", i+1), latency: time.Duration(i+1) * time.Millisecond, state: cluster.Up, run: 1, keys: map[string]string{}})
	}
	return c
}

func (c *fakeCluster) Driver() string            { return "fake" }
func (c *fakeCluster) Version() string           { return "0" }
func (c *fakeCluster) Server() string            { return "redis" }
func (c *fakeCluster) Masters() []cluster.Master { return c.masters }
func (c *fakeCluster) Close() error              { return nil }

func (c *fakeCluster) Link(client string, master int) (cluster.Link, error) {
	if master < 0 || master >= len(c.masters) {
		return nil, fmt.Errorf("no master %d", master)
	}
	return c.link(client, c.masters[master].Name()), nil
}

func (c *fakeCluster) link(client, master string) *fakeLink {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := client + "-" + master
	if c.links[name] == nil {
		c.links[name] = &fakeLink{name: name}
	}
	return c.links[name]
}

func (c *fakeCluster) master(name string) *fakeMaster {
	i := slices.IndexFunc(c.masters, func(m cluster.Master) bool { return m.Name() == name })
	return c.masters[i].(*fakeMaster)
}

// hurt names what is not as it should be at the end.
func (c *fakeCluster) hurt() []string {
	var hurt []string
	for _, m := range c.masters {
		if m.State() != cluster.Up {
			hurt = append(hurt, m.Name()+" is "+string(m.State()))
		}
		if m := m.(*fakeMaster); m.clock != (cluster.Clock{}) || m.disk != (cluster.Disk{}) || m.held {
			hurt = append(hurt, fmt.Sprintf("%s has %+v, %+v, held %v", m.name, m.clock, m.disk, m.held))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.links)) {
		if f := c.links[name].Fault(); f != (cluster.LinkFault{}) {
			hurt = append(hurt, fmt.Sprintf("%s has %+v", name, f))
		}
	}
	return hurt
}

type fakeMaster struct {
	cluster.Master // nil: what the tests here have no use for
	name           string
	latency        time.Duration // of each call
	durable        bool          // keys outlive a kill; they always outlive a shutdown
	deaf           bool          // it answers although it is paused
	noStart        bool
	noPause        bool
	refuses        bool // each fault

	mu      sync.Mutex
	state   cluster.State
	run     int
	keys    map[string]string
	clock   cluster.Clock
	disk    cluster.Disk
	counts  cluster.DiskCounts
	evicted int64
	held    bool // what its replicas learn
	lacks   error
}

func (m *fakeMaster) Name() string { return m.name }

func (m *fakeMaster) State() cluster.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// act has an effect after a while, also if the caller does not wait for it.
func (m *fakeMaster) act(ctx context.Context, effect func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	time.AfterFunc(m.latency, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		done <- effect()
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errRefused = errors.New("refused")

// strike acts, unless the master refuses faults.
func (m *fakeMaster) strike(ctx context.Context, effect func() error) error {
	return m.act(ctx, func() error {
		if m.refuses {
			return errRefused
		}
		return effect()
	})
}

func (m *fakeMaster) Pause(ctx context.Context) error {
	return m.strike(ctx, func() error {
		switch {
		case m.noPause:
			return errNoPause
		case m.state == cluster.Down:
			return cluster.ErrDown
		}
		m.state = cluster.Paused
		return nil
	})
}

func (m *fakeMaster) Resume(ctx context.Context) error {
	return m.act(ctx, func() error {
		if m.state == cluster.Down {
			return cluster.ErrDown
		}
		m.state = cluster.Up
		return nil
	})
}

func (m *fakeMaster) Kill(ctx context.Context) error { return m.stop(ctx, m.durable) }

func (m *fakeMaster) Shutdown(ctx context.Context) error { return m.stop(ctx, true) }

func (m *fakeMaster) stop(ctx context.Context, kept bool) error {
	return m.strike(ctx, func() error {
		if m.state != cluster.Down && !kept {
			clear(m.keys)
		}
		m.state = cluster.Down
		return nil
	})
}

func (m *fakeMaster) Start(ctx context.Context) error {
	return m.act(ctx, func() error {
		switch {
		case m.noStart:
			return errNoStart
		case m.state == cluster.Paused:
			return cluster.ErrPaused
		case m.state == cluster.Down:
			m.state = cluster.Up
			m.run++
		}
		return nil
	})
}

func (m *fakeMaster) Inspect(ctx context.Context, keys []string) (cluster.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return cluster.Snapshot{}, context.Cause(ctx)
	case m.state == cluster.Down:
		return cluster.Snapshot{}, cluster.ErrDown
	case m.state == cluster.Paused && !m.deaf:
		return cluster.Snapshot{}, cluster.ErrPaused
	}
	// A disk is used all the time: whoever looks finds that its fault did something.
	if m.disk.FsyncDelay > 0 {
		m.counts.Delayed++
	}
	if m.disk.FsyncLies {
		m.counts.Lied++
	}
	if m.disk.Full {
		m.counts.Refused++
	}
	look := cluster.Snapshot{RunID: fmt.Sprintf("%s run %d", m.name, m.run), Keys: map[string]string{}, Disk: m.counts, Evicted: m.evicted}
	for _, k := range keys {
		if token, ok := m.keys[k]; ok {
			look.Keys[k] = token
		}
	}
	return look, nil
}

func (m *fakeMaster) SetClock(ctx context.Context, c cluster.Clock) error {
	return m.strike(ctx, func() error {
		if c.Offset > 0 && m.lacks == nil {
			clear(m.keys) // they have expired
		}
		m.clock = c
		return m.lacks
	})
}

func (m *fakeMaster) SetDisk(ctx context.Context, d cluster.Disk) error {
	return m.strike(ctx, func() error { m.disk = d; return m.lacks })
}

func (m *fakeMaster) CutPower(ctx context.Context, _ cluster.Power) (cluster.Cut, error) {
	return cluster.Cut{Files: 1, Bytes: 100}, m.stop(ctx, m.durable)
}

func (m *fakeMaster) HoldReplication(ctx context.Context, held bool) error {
	return m.strike(ctx, func() error { m.held = held; return m.lacks })
}

func (m *fakeMaster) Failover(ctx context.Context, t cluster.Takeover) error {
	return m.strike(ctx, func() error {
		clear(m.keys)
		if t.Ended != nil {
			t.Ended()
		}
		return m.lacks
	})
}

func (m *fakeMaster) FillMemory(ctx context.Context, _ int64) error {
	return m.strike(ctx, func() error { clear(m.keys); m.evicted++; return m.lacks })
}

func (m *fakeMaster) DrainMemory(ctx context.Context) error {
	return m.act(ctx, func() error { return nil })
}

func (m *fakeMaster) store(key, token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys[key] = token
}

type fakeLink struct {
	cluster.Link // nil, likewise
	name         string
	mu           sync.Mutex
	fault        cluster.LinkFault
	counts       cluster.LinkCounts
	resets       int
}

func (l *fakeLink) Addr() string { return l.name }

func (l *fakeLink) Set(f cluster.LinkFault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

func (l *fakeLink) Fault() cluster.LinkFault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

func (l *fakeLink) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resets++
}

func (l *fakeLink) Counts() cluster.LinkCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// send has a client dial, and ask for n bytes, of which as many come back. It says
// whether it got them.
func (l *fakeLink) send(n int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault.Refuse {
		l.counts.Refused++
		return false
	}
	for _, mode := range []cluster.Mode{l.fault.Requests, l.fault.Replies} {
		switch {
		case mode == cluster.Drop:
			l.counts.Dropped += n
			return false
		case mode == cluster.Hold:
			l.counts.Held += n
			return false
		case l.fault.Delay > 0:
			l.counts.Delayed += n
		}
		l.counts.Passed += n
	}
	return true
}
