package checker_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"lockpick/history"
)

// cell is the value of a key on a simulated master.
type cell struct {
	token, client string
	ends          time.Duration
}

// delayed is a SET that a master executes long after its client has given it up.
type delayed struct {
	at    time.Duration
	store *store
	key   string
	cell  cell
}

// store is a simulated master: its keys, and its faults.
type store struct {
	name  string
	keys  map[string]cell
	down  bool
	quiet bool // it does not answer

	looked time.Duration // when its last snapshot was taken
}

// held is a lease as its client knows it.
type held struct {
	key, token string
	asks       history.Value // the mode and the permits
	client     string
	fence      int64
	sent       time.Duration // when its attempt began
	until      time.Duration
	promised   time.Duration // until when its client may count on it: a refused extension takes nothing back
	inside     bool
	read       bool
	wrote      int
	released   bool
}

// actor is the state of a client.
type actor struct {
	name   string
	busy   time.Duration // it does nothing before this time
	asking string        // the key of its pending acquire
	asks   history.Value // the mode and the permits of it
	place  place         // the keys of it, of a multi-lock
	token  string        // the token of its last attempt
	undo   string        // the token of a failed attempt that the client has not released yet
	leases []*held
	lost   bool // its call never returns
}

// guarded is a key: its holder, and the resource that it guards.
type guarded struct {
	name, redis string
	free        time.Duration // when the last lease that was granted correctly ends
	holder      *held
	given       []*held  // all leases
	queue       []string // the clients that wait, if the lock serves them in order
	value, last int64
	mark        string
	fence       [2]int64 // the highest fencing token of the plain and the fenced resource
}

// maker draws a random history: clients of a lock, masters and a nemesis. It first draws
// which faults and errors happen and how often, so that some histories are those of a correct
// lock, with all the evidence that a verdict of holds needs, and others are arbitrary.
type maker struct {
	t       *rapid.T
	head    history.Header
	tick    time.Duration
	now     time.Duration
	ops     []history.Op
	wrong   int // percent: how often the lock or a master breaks its rules
	faulty  int // percent: how often a fault, a crash or a pause happens
	silent  int // percent: how often a master does not answer
	late    int // percent: how often a client does not check the clock
	votes   bool
	reuse   bool // the lock uses the same token for a retry
	redis   bool
	single  bool          // the lock uses only the first master
	slow    time.Duration // how late the recording of a vote may be
	habits  []string      // operations that clients prefer under a lease
	correct bool          // history mangles no lines
	long    bool          // the history takes more steps than others
	jumps   bool          // the history has long times without any operation
	delays  []delayed     // commands in flight
	ordered bool          // the lock serves waiters in order

	clients []*actor
	masters []*store
	keys    []*guarded
	faults  map[int]*history.Value
	names   map[int]string
	places  map[string]place // by token, of a multi-lock
	tokens  int
	values  int64
	fences  int64
	ids     int
}

func (m *maker) n(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(m.t, "n") }

// chance returns true with the given probability in percent.
func (m *maker) chance(percent int) bool {
	if percent <= 0 {
		return false
	}
	return m.n(0, 99) >= 100-percent
}

func pick[T any](m *maker, all []T) T { return all[m.n(0, len(all)-1)] }

// ticks returns a random duration of at most the given number of ticks.
func (m *maker) ticks(most int) time.Duration { return time.Duration(m.n(0, most)) * m.tick }

// add records an operation at a time; history sorts the lines by time at the end.
func (m *maker) add(at time.Duration, process, f string, typ history.Type, key string, v *history.Value) *history.Op {
	op := history.Op{Time: at, Process: process, F: f, Type: typ, Key: key, Value: v}
	if m.head.Kind == history.Multi {
		m.ops = append(m.ops, m.placed(op)...)
	} else {
		m.ops = append(m.ops, op)
	}
	return &m.ops[len(m.ops)-1]
}

// drawHistory draws a history, and the tick of which all its times are multiples.
func drawHistory(t *rapid.T) (*history.History, time.Duration) {
	m := &maker{t: t, faults: map[int]*history.Value{}, names: map[int]string{}, places: map[string]place{}}
	m.drawHeader()
	m.run()
	return m.history(), m.tick
}

// drawCorrect draws a history of a lock and of masters that break no rule: only answers may be
// late or missing.
func drawCorrect(t *rapid.T) *history.History {
	m := &maker{t: t, faults: map[int]*history.Value{}, names: map[int]string{}, places: map[string]place{}}
	m.drawHeader()
	m.wrong, m.late, m.faulty, m.reuse, m.correct = 0, 0, 0, false, true
	m.run()
	return m.history()
}

// run makes the moves of the clients and the nemesis, and ends the history.
func (m *maker) run() {
	m.makeActors()
	steps := pick(m, []int{4, 12, 40, 90, 140, 350})
	if m.long {
		steps = 400
	}
	for range steps {
		m.step()
	}
	m.finish()
}

func (m *maker) drawHeader() {
	h := &m.head
	h.Format, h.Driver = 2, pick(m, []string{"sim", "sim", "process"})
	m.tick = pick(m, []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 50 * time.Millisecond})
	if h.Driver == "sim" {
		m.tick = pick(m, []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 50 * time.Millisecond, time.Millisecond, time.Millisecond})
	}
	h.TTL = m.tick * time.Duration(pick(m, []int{20, 8, 50, 3, 40}))
	h.Masters = pick(m, []int{3, 5, 1, 3})
	if h.Quorum = h.Masters/2 + 1; m.chance(10) { // a lock that uses one of several masters
		h.Quorum, m.single = 1, true
	}
	h.Persistence = "none"
	h.Clients, h.Keys = pick(m, []int{3, 1, 2, 4}), pick(m, []int{1, 1, 2})
	m.habits = pick(m, [][]string{
		{"release", "release", "release"}, {"enter", "leave", "release", "enter", "leave", "release"},
		{"write", "write", "write", "release", "release"}, {"extend", "extend", "extend", "release"},
	})
	if h.Kind = pick(m, []history.LockKind{"", "", "", history.ReadWrite, history.Semaphore, history.Reentrant, history.Multi}); *oracleKind != "" {
		h.Kind = history.LockKind(*oracleKind)
	}
	if h.Kind == history.Semaphore {
		h.Permits = m.n(1, 3)
	}
	h.Fencing = m.chance(30)
	h.Duplicates = m.chance(10)
	if m.chance(15) {
		h.HungHolder = 3 * h.TTL
	}
	if m.chance(15) {
		h.DeadWaiter = pick(m, []time.Duration{time.Second, 5 * time.Second})
	}
	if m.chance(40) {
		h.Retry = pick(m, []time.Duration{m.tick, 100 * time.Millisecond, 2 * time.Second, 5 * m.tick})
	}
	if m.chance(35) {
		h.Resource = pick(m, []string{"cas-mark-last", "cas-mark-first"})
	}
	if m.chance(50) {
		h.Properties = []string{"dead-on-arrival", "ghost-keys"}
	}
	m.wrong = pick(m, []int{0, 0, 1, 4, 30})
	m.faulty = pick(m, []int{0, 0, 3, 8, 20})
	m.silent = pick(m, []int{0, 0, 5, 25})
	m.votes, m.reuse, m.redis = h.LockKind().OneToken() && m.chance(85), m.chance(15), m.chance(20)
	if m.chance(20) {
		m.slow = m.tick * 2
	}
	m.late = pick(m, []int{0, 0, 0, 30})
	m.jumps = m.tick >= 50*time.Millisecond && m.chance(15)
	if h.Resource != "" && m.chance(70) || h.Fencing && m.chance(50) {
		m.habits = []string{"write", "write", "write", "release", "release"}
		m.late = pick(m, []int{m.late, 40})
		if m.long = m.chance(60); m.long { // a write needs several steps, and a verdict several writes
			m.faulty, m.wrong = pick(m, []int{0, m.faulty}), pick(m, []int{0, 0, m.wrong})
			h.Clients, h.Keys = m.n(2, 3), 1
		}
	}
	if m.single && h.Kind != history.Multi && m.chance(80) {
		m.drawQueue()
	}
	if m.faulty > 0 {
		h.Faults = pick(m, [][]string{nil, {"none"}, {"kill"}, {"kill", "client-pause"}})
	}
}

// makeActors makes the clients, the masters and the keys.
func (m *maker) makeActors() {
	h := &m.head
	for i := range h.Clients {
		m.clients = append(m.clients, &actor{name: fmt.Sprintf("c%d", i+1)})
	}
	for i := range h.Masters {
		m.masters = append(m.masters, &store{name: fmt.Sprintf("m%d", i+1), keys: map[string]cell{}})
	}
	for i := range h.Keys {
		k := &guarded{name: fmt.Sprintf("k%d", i)}
		if k.redis = k.name; m.redis {
			k.redis = "lock:" + k.name
		}
		m.keys = append(m.keys, k)
	}
}

// step advances the time and makes one random move.
func (m *maker) step() {
	for _, d := range m.delays {
		if d.at <= m.now && !d.store.down {
			if c, stored := d.store.keys[d.key]; !stored || c.ends <= m.now {
				d.cell.ends = m.now + m.head.TTL
				d.store.keys[d.key] = d.cell
			}
		}
	}
	m.delays = slices.DeleteFunc(m.delays, func(d delayed) bool { return d.at <= m.now })
	m.now += m.tick * time.Duration(pick(m, []int{1, 0, 0, 1, 2, 1, 4}))
	if m.chance(1) {
		m.now += m.head.TTL
	}
	switch {
	case m.jumps && m.chance(3):
		if c := pick(m, m.clients); c.busy <= m.now && !c.lost && c.asking == "" && len(c.leases) == 0 {
			m.call(c)
		}
		long := 2*m.head.TTL + 6*time.Second + time.Duration(m.head.Clients)*300*time.Millisecond
		m.now += (long/m.tick+1)*m.tick + m.ticks(3)
	case m.chance(m.faulty):
		m.nemesis()
	case m.chance(12):
		m.look()
	case m.chance(1):
		m.harness()
	default:
		if c := pick(m, m.clients); c.busy <= m.now && !c.lost {
			m.act(c)
		}
	}
}

func (m *maker) key(name string) *guarded {
	i := slices.IndexFunc(m.keys, func(k *guarded) bool { return k.name == name })
	return m.keys[i]
}
