package sim

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/lua"
	"lockpick/cluster/sim/world"
	"lockpick/redlock/protocol"
)

// These are the least durations of actions on a master; each takes up to twice as long.
const (
	signalTime = 50 * time.Microsecond // to stop, resume or kill a process
	startTime  = 5 * time.Millisecond  // until the server answers PING
	exitTime   = time.Millisecond      // from SIGTERM to the end of the server
	lookTime   = 200 * time.Microsecond
)

// Master is a simulated redis-server on a host of its own. It implements cluster.Master.
type Master struct {
	cluster *Cluster
	world   *world.World
	name    string
	number  int // from 1
	state   cluster.State
	run     int     // number of the server's current start, from 1
	ends    []int64 // end of each start
	runID   string
	wall    world.Clock

	failures failures

	store   keyspace.Store
	account *account               // nil: no observer
	scripts map[string]*lua.Script // by SHA-1: the scripts that this start was given
	latest  *protocol.Script       // a script that was run by its hash
	disk    disk
	evicted int64 // number of keys that this start has evicted

	begun  bool      // the step that is being executed has changed a key
	oom    bool      // the memory was full when the step began
	script scriptRun // the script that is being executed, or was executed last

	replicas []*replica // replicas that are up; a failover promotes the first one
	held     bool       // replication to the first replica is held
	apart    *Master    // a server that a failover cut off and that lives on; nil: there is none
	fillers  int        // number of keys that FillMemory has written

	connections *int64           // number of connections so far, which a primary that lives on shares
	changes     int64            // number of changes of keys so far
	touches     map[string]int64 // how often watched keys have changed
	listeners   []*Stream        // streams that have subscribed to a channel
	serving     *session         // the connection whose command is being executed, if it has one
	trackers    []*Stream        // streams that are told which keys have changed
	expiry      world.Event      // the next time at which expired keys are deleted for them
	expires     int64            // ms of its clock, of the key for which that is planned; 0: it is not planned
	waiting     waiting          // streams whose blocking commands have no reply yet

	backlog []incoming  // messages that arrived while it was paused
	queue   []incoming  // messages that arrived while it waited for its disk
	busy    int64       // true time until which it waits for its disk
	turn    world.Event // the end of that wait
	acting  bool        // a call of cluster.Master is being executed
	callers []*world.Coroutine
}

func newMaster(c *Cluster, i int) *Master {
	m := &Master{cluster: c, world: c.world, name: "m" + strconv.Itoa(i+1), number: i + 1}
	m.failures = failuresOf(m.name)
	m.connections = new(int64)
	m.wall.Set(m.world.Now(), m.world.Now(), 0)
	m.newStore()
	m.store.Weighed = c.config.MaxMemory > 0
	m.disk.init(m, c.config.Persistence)
	m.prepare()
	m.begin(m.disk.load())
	m.resync(c.config.Replicas)
	return m
}

// prepare connects the events of the master.
func (m *Master) prepare() {
	m.turn.Do, m.waiting.alarm.Do, m.expiry.Do = (*turn)(m), (*alarm)(m), (*expiry)(m)
}

func (m *Master) newStore() {
	m.store = keyspace.NewStore(m.changed)
	m.store.Epoch, m.store.Intn = world.Epoch.UnixMilli(), func(n int) int { return m.world.Intn(n, world.WhatMember) }
}

// Name returns m1, m2, …
func (m *Master) Name() string { return m.name }

// State returns the state of the server.
func (m *Master) State() cluster.State { return m.state }

// act executes one call on the master in its turn, which takes at least d.
func (m *Master) act(ctx context.Context, what string, d time.Duration, f func() error) error {
	co := m.world.Running(what)
	err := m.world.Ended(ctx)
	for err == nil && m.acting {
		m.callers = append(m.callers, co)
		co.WaitOn(ctx, "its turn to "+what+" "+m.name)
		m.callers = remove(m.callers, co)
		err = m.world.Ended(ctx)
	}
	if err == nil && m.cluster.closed {
		err = cluster.ErrClosed
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, m.name, err)
	}
	m.acting = true
	defer func() {
		m.acting = false
		if len(m.callers) > 0 {
			m.callers[0].Wake()
		}
	}()
	if d > 0 {
		m.pass(m.cluster.effort(d))
	}
	if err = f(); err == nil && m.cluster.closed {
		err = cluster.ErrClosed
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, m.name, err)
	}
	return nil
}

// pass lets time pass. An action that has begun is completed, even if the caller's context
// ends.
func (m *Master) pass(d time.Duration) {
	_ = m.world.Runtime().Sleep(context.Background(), d)
}

// Pause stops the server. Its host still accepts connections and bytes.
func (m *Master) Pause(ctx context.Context) error {
	return m.act(ctx, "pause", signalTime, func() error {
		if m.state == cluster.Down {
			return cluster.ErrDown
		}
		m.state = cluster.Paused
		return nil
	})
}

// Resume lets the server continue. It first executes the requests that have arrived
// meanwhile.
func (m *Master) Resume(ctx context.Context) error {
	return m.act(ctx, "resume", signalTime, func() error {
		if m.state == cluster.Down {
			return cluster.ErrDown
		}
		m.resume()
		return nil
	})
}

func (m *Master) resume() {
	if m.state != cluster.Paused {
		return
	}
	m.state = cluster.Up
	m.timeOut() // before it reads what has arrived, as Redis on Linux
	backlog := m.backlog
	m.backlog = nil
	for _, x := range backlog {
		m.receive(x)
	}
	m.disk.plan()
	m.planExpiry()
}

// Kill has the effect of SIGKILL, also on a paused server: requests that it had not read yet
// are never executed.
func (m *Master) Kill(ctx context.Context) error {
	return m.act(ctx, "kill", signalTime, func() error {
		if m.state != cluster.Down {
			m.die()
			m.disk.crash()
		}
		return nil
	})
}

// die ends the process. Clients that wait for a reply learn that the connection is broken.
func (m *Master) die() {
	if m.state == cluster.Down {
		return
	}
	m.state = cluster.Down
	m.ends = append(m.ends, m.world.Now())
	m.world.Cancel(&m.turn)
	m.world.Cancel(&m.waiting.alarm)
	m.world.Cancel(&m.expiry)
	m.trackers, m.expires = nil, 0
	m.waiting.all, m.waiting.ready, m.waiting.served = nil, nil, nil
	lost := append(m.queue, m.backlog...)
	m.queue, m.backlog, m.busy = nil, nil, 0
	for _, x := range lost {
		x.broken()
	}
	m.hangUp()
	m.disk.halt()
}

// hangUp ends the streams of the server.
func (m *Master) hangUp() {
	for _, links := range m.cluster.links {
		if l := links[m.number-1]; l.master == m {
			for _, s := range l.streams {
				s.serverGone()
			}
		}
	}
}

// endedBefore reports whether a start of the server ended before a time.
func (m *Master) endedBefore(run int, t int64) bool {
	return run >= 1 && run <= len(m.ends) && m.ends[run-1] < t
}

// Shutdown has the effect of SIGTERM: the server saves what its persistence requires.
func (m *Master) Shutdown(ctx context.Context) error {
	return m.act(ctx, "shut down", signalTime, func() error {
		if m.state == cluster.Down {
			return nil
		}
		m.resume()
		m.pass(m.cluster.effort(exitTime))
		if m.state == cluster.Down { // it ended by itself
			return nil
		}
		if err := m.disk.save(); err != nil {
			return err
		}
		m.die()
		m.disk.crash()
		return nil
	})
}

// Start starts the server with the data on its disk. Servers that a Failover has killed start
// as replicas.
func (m *Master) Start(ctx context.Context) error {
	return m.act(ctx, "start", 0, func() error {
		switch m.state {
		case cluster.Up:
			if len(m.replicas) < m.cluster.config.Replicas {
				m.pass(m.cluster.effort(startTime))
				m.endSplitBrain()
				m.resync(m.cluster.config.Replicas)
				m.hold(m.held)
			}
			return nil
		case cluster.Paused:
			return cluster.ErrPaused
		}
		m.pass(m.cluster.effort(startTime))
		if m.cluster.closed {
			return cluster.ErrClosed
		}
		m.endSplitBrain()
		m.begin(m.disk.load())
		m.resync(m.cluster.config.Replicas)
		m.hold(m.held)
		return nil
	})
}

// begin starts a server with keys.
func (m *Master) begin(keys map[string]keyspace.Value) {
	m.run++
	m.runID = m.newRunID()
	m.scripts, m.latest, m.listeners, m.touches = map[string]*lua.Script{}, nil, nil, nil
	m.evicted = 0
	m.state = cluster.Up
	if m.account == nil {
		m.store.Load(keys)
		return
	}
	before := m.store.All()
	m.store.Load(keys)
	m.account.replaced(before)
}

// newRunID returns 40 random hexadecimal digits.
func (m *Master) newRunID() string {
	var b [20]byte
	m.world.Runtime().Read(b[:])
	return hex.EncodeToString(b[:])
}

// Inspect returns the values that the server stores. It does not wait for other calls.
func (m *Master) Inspect(ctx context.Context, keys []string) (cluster.Snapshot, error) {
	m.world.Running("Look")
	fail := func(err error) (cluster.Snapshot, error) {
		return cluster.Snapshot{}, fmt.Errorf("look at %s: %w", m.name, err)
	}
	if err := m.world.Ended(ctx); err != nil {
		return fail(err)
	}
	if m.state == cluster.Up {
		if err := m.world.Runtime().Sleep(ctx, m.cluster.effort(lookTime)); err != nil {
			return fail(err)
		}
	}
	switch m.state {
	case cluster.Paused:
		return fail(cluster.ErrPaused)
	case cluster.Down:
		return fail(cluster.ErrDown)
	}
	return m.snapshot(keys), nil
}

func (m *Master) snapshot(keys []string) cluster.Snapshot {
	look := cluster.Snapshot{
		RunID: m.runID, Keys: map[string]string{}, Expires: map[string]time.Time{}, Time: world.Epoch.Add(time.Duration(m.clock())), Evicted: m.evicted, Disk: m.disk.counts,
	}
	for _, key := range keys {
		v, ok := m.store.Get(key, m.now())
		switch {
		case ok && v.Parts != nil:
			look.Other = true
		case ok:
			look.Keys[key] = v.Text
			if v.Expires != keyspace.Never {
				look.Expires[key] = world.Epoch.Add(time.Duration(v.Expires) * time.Millisecond)
			}
		}
	}
	return look
}

// SetClock sets the master's wall clock. Timers of its host are not affected.
func (m *Master) SetClock(ctx context.Context, c cluster.Clock) error {
	return m.act(ctx, "set the clock of", signalTime, func() error {
		m.setClock(c)
		return nil
	})
}

func (m *Master) setClock(c cluster.Clock) {
	m.tidy() // by the clock before its change
	if c.Rate == 0 {
		c.Rate = 1
	}
	m.failures = failuresOf(m.name)
	m.wall.Set(m.world.Now(), m.world.Now()+int64(c.Offset), world.GainOf(c.Rate))
	m.disk.plan()
	m.planTimeouts()
	m.expires = 0
	m.planExpiry()
}

// sweepEvery is the interval at which Redis itself deletes expired keys.
const sweepEvery = 100 * time.Millisecond

// tidy deletes the keys that Redis has certainly deleted by now, if it was running: those
// that expired before the last sweep. The difference is visible only if the clock is set
// back.
func (m *Master) tidy() {
	if m.state == cluster.Up {
		m.begun = false
		m.store.Sweep((m.wall.Read(m.world.Now()) - int64(sweepEvery)) / int64(time.Millisecond))
	}
}

// SetDisk sets the fault of the disk: full, slow or lying.
func (m *Master) SetDisk(ctx context.Context, d cluster.Disk) error {
	return m.act(ctx, "change the disk of", signalTime, func() error {
		m.disk.set(d)
		return nil
	})
}

// CutPower ends the server, if it runs, and removes the data that was not fsynced from its
// disk.
func (m *Master) CutPower(ctx context.Context, p cluster.Power) (cluster.Cut, error) {
	var cut cluster.Cut
	err := m.act(ctx, "cut the power of", signalTime, func() error {
		if m.state != cluster.Down {
			m.die()
			m.disk.crash()
		}
		cut = m.disk.cut(p)
		return nil
	})
	return cut, err
}

var (
	_ cluster.Master  = (*Master)(nil)
	_ cluster.Cluster = (*Cluster)(nil)

	_ cluster.Simulated = (*Cluster)(nil)
)
