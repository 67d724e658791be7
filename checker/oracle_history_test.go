package checker_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"lockpick/history"
)

// cell is a key as a simulated master stores it.
type cell struct {
	token, client string
	ends          time.Duration
}

// delayed is a SET that a master carries out when its client has long given it up.
type delayed struct {
	at    time.Duration
	store *store
	key   string
	cell  cell
}

// store is a master: what it keeps under each Redis key, and what is wrong with it.
type store struct {
	name  string
	keys  map[string]cell
	down  bool
	quiet bool // it does not answer

	looked time.Duration // it was last asked for its keys
}

// held is a lease as its client knows it.
type held struct {
	key, token string
	fence      int64
	sent       time.Duration // when its attempt began
	until      time.Duration
	inside     bool
	read       bool
	wrote      int
	released   bool
}

// actor is a client and what it does.
type actor struct {
	name   string
	busy   time.Duration // it does nothing before this time
	asking string        // the key of its pending acquire
	token  string        // of its last attempt
	undo   string        // the token of an attempt that failed, as long as it is not released
	leases []*held
	lost   bool // its call never returns
}

// guarded is a key: who may hold it, and the resource that it guards.
type guarded struct {
	name, redis string
	free        time.Duration // the last lease granted correctly ends
	holder      *held
	value, last int64
	mark        string
	fence       [2]int64 // the highest that each twin of the resource has seen
}

// maker draws a random history: clients of a lock, masters and a nemesis. What goes wrong
// and how often is drawn first, so that some histories are those of a correct lock, with
// all the evidence that a verdict of holds needs, and others are arbitrary.
type maker struct {
	t       *rapid.T
	head    history.Header
	tick    time.Duration
	now     time.Duration
	ops     []history.Op
	wrong   int // percent: how often the lock or a master breaks its rules
	faulty  int // percent: how often a fault, a crash or a pause comes
	silent  int // percent: how often a master does not answer
	late    int // percent: how often a client does not look at the clock
	votes   bool
	reuse   bool // the lock takes its last token again for a retry
	redis   bool
	single  bool          // the lock asks the first master only
	slow    time.Duration // recording of votes is late by up to this
	habits  []string      // what clients prefer to do under a lease
	correct bool          // nobody mangles it either
	long    bool          // it takes more steps than others
	jumps   bool          // there are long times in which nothing happens
	delays  []delayed     // commands on their way

	clients []*actor
	masters []*store
	keys    []*guarded
	faults  map[int]*history.Value
	names   map[int]string
	tokens  int
	values  int64
	fences  int64
	ids     int
}

func (m *maker) n(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(m.t, "n") }

// chance is true in so many percent of all cases.
func (m *maker) chance(percent int) bool {
	if percent <= 0 {
		return false
	}
	return m.n(0, 99) >= 100-percent
}

func pick[T any](m *maker, all []T) T { return all[m.n(0, len(all)-1)] }

// ticks is a random time of so many ticks at most.
func (m *maker) ticks(most int) time.Duration { return time.Duration(m.n(0, most)) * m.tick }

// add records an operation at a time; lines are put in order of time at the end.
func (m *maker) add(at time.Duration, process, f string, typ history.Type, key string, v *history.Value) *history.Op {
	m.ops = append(m.ops, history.Op{Time: at, Process: process, F: f, Type: typ, Key: key, Value: v})
	return &m.ops[len(m.ops)-1]
}

// drawHistory draws a history, and the unit of all its times.
func drawHistory(t *rapid.T) (*history.History, time.Duration) {
	m := &maker{t: t, faults: map[int]*history.Value{}, names: map[int]string{}}
	m.drawHeader()
	m.run()
	return m.history(), m.tick
}

// drawCorrect draws a history of a lock and of masters that break no rule: nothing is wrong
// but that answers may be late or missing.
func drawCorrect(t *rapid.T) *history.History {
	m := &maker{t: t, faults: map[int]*history.Value{}, names: map[int]string{}}
	m.drawHeader()
	m.wrong, m.late, m.faulty, m.reuse, m.correct = 0, 0, 0, false, true
	m.run()
	return m.history()
}

// run lets the clients run, and ends the history.
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
	if h.Quorum = h.Masters/2 + 1; m.chance(10) { // a lock on one of several masters
		h.Quorum, m.single = 1, true
	}
	h.Persistence = "none"
	h.Clients, h.Keys = pick(m, []int{3, 1, 2, 4}), pick(m, []int{1, 1, 2})
	m.habits = pick(m, [][]string{
		{"release", "release", "release"}, {"enter", "leave", "release", "enter", "leave", "release"},
		{"write", "write", "write", "release", "release"}, {"extend", "extend", "extend", "release"},
	})
	h.Fencing = m.chance(30)
	h.Duplicates = m.chance(10)
	if m.chance(35) {
		h.Resource = pick(m, []string{"cas-mark-last", "cas-mark-first"})
	}
	if m.chance(50) {
		h.Properties = []string{"dead-on-arrival", "ghost-keys"}
	}
	m.wrong = pick(m, []int{0, 0, 1, 4, 30})
	m.faulty = pick(m, []int{0, 0, 3, 8, 20})
	m.silent = pick(m, []int{0, 0, 5, 25})
	m.votes, m.reuse, m.redis = m.chance(85), m.chance(15), m.chance(20)
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

// step lets some time pass and something happen.
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

// act is what a client does next.
func (m *maker) act(c *actor) {
	switch {
	case c.asking != "":
		m.try(c)
	case len(c.leases) == 0 || len(c.leases) == 1 && m.chance(3):
		m.call(c)
		if m.chance(60) {
			m.try(c)
		}
	default:
		m.use(c, pick(m, c.leases))
	}
}

// call begins an acquire.
func (m *maker) call(c *actor) {
	c.asking = pick(m, m.keys).name
	if !m.chance(m.wrong / 8) {
		m.add(m.now, c.name, history.FAcquire, history.Invoke, c.asking, nil)
	}
}

// vote records what a master answered.
func (m *maker) vote(c *actor, s *store, k *guarded, token, command string, sent, took time.Duration, yes, answered bool) {
	if !m.votes {
		return
	}
	v := &history.Value{Client: c.name, Token: token, Command: command, Yes: yes && answered, Took: took}
	if k.redis != k.name {
		v.RedisKey = k.redis
	}
	if command == history.CommandSet || command == history.CommandExtend {
		v.TTL = m.head.TTL
	}
	if m.slow > 0 {
		v.Delay = m.ticks(2)
	}
	typ := history.OK
	if !answered {
		typ = history.Info
	}
	m.add(sent+took+v.Delay, s.name, history.FVote, typ, k.name, v)
}

// ask sends a command to each master, which carries it out at once or never, and returns
// how many said yes and when the last of them had answered.
func (m *maker) ask(c *actor, k *guarded, token, command string) (yes int, by time.Duration) {
	by = m.now
	for _, s := range m.masters[:m.asked()] {
		if command == history.CommandRelease && m.chance(m.wrong/4) {
			continue // it was never sent
		}
		took := m.ticks(1)
		if m.chance(10) {
			took = m.ticks(6)
		}
		answered := !s.down && !s.quiet && !m.chance(m.silent)
		executed := !s.down && (answered || m.chance(50))
		if !executed && command == history.CommandSet && m.chance(50) {
			m.delays = append(m.delays, delayed{m.now + took + m.ticks(4), s, k.redis, cell{token: token, client: c.name}})
		}
		said := false
		if executed {
			said = m.execute(c, s, k, token, command)
		}
		if m.chance(m.wrong / 2) {
			said = !said
		}
		m.vote(c, s, k, token, command, m.now, took, said, answered)
		if said && answered {
			yes++
			by = max(by, m.now+took)
		}
	}
	return yes, by
}

// asked is how many masters the lock asks.
func (m *maker) asked() int {
	if m.single {
		return 1
	}
	return len(m.masters)
}

func (m *maker) execute(c *actor, s *store, k *guarded, token, command string) bool {
	now, stored := s.keys[k.redis]
	if stored && now.ends <= m.now {
		stored = false
		delete(s.keys, k.redis)
	}
	own := stored && now.token == token
	switch command {
	case history.CommandSet:
		if stored {
			return false
		}
		s.keys[k.redis] = cell{token, c.name, m.now + m.head.TTL}
		return true
	case history.CommandExtend:
		if own {
			s.keys[k.redis] = cell{token, c.name, m.now + m.head.TTL}
		}
		return own
	default:
		if own {
			delete(s.keys, k.redis)
		}
		return own
	}
}

// try is an attempt of a pending acquire, or its end.
func (m *maker) try(c *actor) {
	k := m.key(c.asking)
	switch {
	case c.undo != "": // what its last attempt may have set
		m.ask(c, k, c.undo, history.CommandRelease)
		c.undo = ""
		if m.chance(25) {
			m.add(m.now, c.name, history.FAcquire, history.Fail, k.name, nil)
			c.asking = ""
		}
		return
	case m.chance(2):
		m.add(m.now, c.name, history.FAcquire, history.Fail, k.name, nil)
		c.asking = ""
		return
	case m.chance(m.wrong / 6):
		c.lost = true
		if m.chance(50) {
			m.add(m.now, c.name, pick(m, []string{history.FHung, history.FPanicked}), history.Info, k.name, &history.Value{Command: history.FAcquire})
		}
		return
	}
	if c.token == "" || !m.reuse {
		m.tokens++
		c.token = fmt.Sprintf("t%d", m.tokens)
	}
	if m.chance(m.wrong / 5) {
		c.token = fmt.Sprintf("t%d", m.n(1, m.tokens+1))
	}
	free := k.free <= m.now
	yes, by := m.ask(c, k, c.token, history.CommandSet)
	granted := m.votes && yes >= m.head.Quorum || !m.votes && free
	if m.chance(m.wrong / 3) {
		granted = !granted
	}
	at := by
	if m.chance(20) {
		at += m.ticks(1)
	}
	until := m.now + m.head.TTL - m.ticks(1)
	if until <= at && !m.chance(m.wrong) {
		granted = false
	}
	if !granted {
		c.busy, c.undo = at, c.token
		return
	}
	if m.chance(m.wrong) {
		until = m.now + m.ticks(2*int(m.head.TTL/m.tick))
	}
	l := &held{key: k.name, token: c.token, until: until, sent: m.now}
	if m.head.Fencing {
		m.fences++
		if l.fence = m.fences; m.chance(m.wrong) {
			l.fence = int64(m.n(0, int(m.fences)))
		}
	}
	k.free, k.holder = max(k.free, until), l
	m.add(at, c.name, history.FAcquire, history.OK, k.name, &history.Value{Token: l.token, ValidUntil: until, Fence: l.fence})
	c.leases, c.asking, c.busy = append(c.leases, l), "", at
	if !m.reuse {
		c.token = ""
	}
}

// drop makes a client forget a lease.
func (c *actor) drop(l *held) {
	c.leases = slices.DeleteFunc(c.leases, func(x *held) bool { return x == l })
}

// use is what a client does under a lease. It looks at the clock first, unless it is wrong.
func (m *maker) use(c *actor, l *held) {
	k := m.key(l.key)
	if l.until < m.now+m.ticks(1) && !m.chance(max(m.wrong, m.late)) { // just in time or too late
		if l.inside {
			m.add(m.now, c.name, history.FLeave, history.Info, k.name, &history.Value{Token: l.token})
		}
		if m.votes && m.chance(70) {
			m.release(c, l)
		}
		c.drop(l)
		return
	}
	token := func() *history.Value { return &history.Value{Token: l.token} }
	switch pick(m, append([]string{"release", "enter", "write", "extend", "leave", "read", "clock"}, m.habits...)) {
	case "release":
		if l.wrote == 0 && slices.Contains(m.habits, "write") && m.chance(70) {
			m.write(c, k, l)
			return
		}
		if l.inside && !m.chance(m.wrong) {
			m.add(m.now, c.name, history.FLeave, history.Info, k.name, token())
		}
		m.release(c, l)
		if !m.chance(m.wrong / 2) {
			c.drop(l)
		}
	case "enter":
		if !l.inside || m.chance(5) {
			m.add(m.now, c.name, history.FEnter, history.Info, k.name, token())
		}
		l.inside = true
	case "leave":
		if l.inside {
			m.add(m.now, c.name, history.FLeave, history.Info, k.name, token())
			l.inside = false
		}
	case "read":
		m.read(c, k, l)
	case "write":
		m.write(c, k, l)
	case "extend":
		m.extend(c, k, l)
	case "clock":
		if !m.chance(m.faulty + m.wrong) {
			return
		}
		if m.chance(30) { // at the very end
			m.now = max(m.now, l.until)
		}
		if l.until > m.now || m.chance(50) {
			l.until = m.now + m.ticks(int(m.head.TTL/m.tick))
			k.free = max(k.free, l.until)
		}
		m.add(m.now, c.name, history.FClock, history.Info, k.name, &history.Value{Token: l.token, ValidUntil: l.until, Rate: 1})
	}
}

func (m *maker) release(c *actor, l *held) {
	k := m.key(l.key)
	m.add(m.now, c.name, history.FRelease, history.Invoke, k.name, &history.Value{Token: l.token})
	if m.chance(m.wrong / 6) {
		c.lost = true
		return
	}
	yes, by := m.ask(c, k, l.token, history.CommandRelease)
	typ := history.OK
	if m.votes && yes < m.head.Quorum {
		typ = pick(m, []history.Type{history.Fail, history.Info})
	}
	m.add(by, c.name, history.FRelease, typ, k.name, &history.Value{Token: l.token})
	if k.holder == l {
		k.free = m.now
	}
	c.busy, l.released = by, true
}

func (m *maker) extend(c *actor, k *guarded, l *held) {
	if auto := m.chance(15); !auto {
		m.add(m.now, c.name, history.FExtend, history.Invoke, k.name, &history.Value{Token: l.token})
	}
	yes, by := m.ask(c, k, l.token, history.CommandExtend)
	ok := by < l.until && (yes >= m.head.Quorum || !m.votes)
	if m.chance(m.wrong) {
		ok = !ok
	}
	c.busy = by
	if !ok {
		m.add(by, c.name, history.FExtend, pick(m, []history.Type{history.Fail, history.Info}), k.name, &history.Value{Token: l.token})
		if m.asked()-yes >= m.head.Quorum && !m.chance(m.wrong) {
			l.until = min(l.until, by) // the lock knows that it is lost
		}
		return
	}
	l.until = m.now + m.head.TTL - m.ticks(1)
	if m.chance(m.wrong) {
		l.until = by + m.ticks(int(m.head.TTL/m.tick)) - 2*m.tick
	}
	k.free = max(k.free, l.until)
	m.add(by, c.name, history.FExtend, history.OK, k.name, &history.Value{Token: l.token, ValidUntil: l.until})
}

func (m *maker) read(c *actor, k *guarded, l *held) {
	if m.head.Resource != "" && !m.chance(m.wrong) {
		m.add(m.now, history.Resource, history.FMark, history.OK, k.name, &history.Value{Token: l.token})
		k.mark = l.token
	}
	value := k.value
	if m.chance(m.wrong) {
		value = k.last
	}
	m.add(m.now, c.name, history.FRead, history.OK, k.name, &history.Value{Token: l.token, Value: value})
	l.read = true
}

func (m *maker) write(c *actor, k *guarded, l *held) {
	if m.head.Resource != "" && !l.read {
		m.read(c, k, l)
	}
	m.values++
	l.wrote++
	v := &history.Value{Token: l.token, Fence: l.fence, Value: m.values}
	if m.chance(m.wrong / 4) {
		v.Value = max(1, m.values-1)
	}
	m.add(m.now, c.name, history.FWrite, history.Invoke, k.name, v)
	arrives := m.now + m.ticks(1)
	if m.chance(m.wrong) || m.chance(m.faulty/2) {
		stop := m.now
		arrives += m.ticks(2 * int(m.head.TTL/m.tick))
		m.add(stop, c.name, history.FPaused, history.Invoke, "", &history.Value{Point: "before-write"})
		m.add(arrives, c.name, history.FPaused, history.OK, "", &history.Value{Point: "before-write"})
		if m.head.Resource == "" && l.until <= arrives && !m.chance(m.wrong+m.faulty) {
			m.add(arrives, c.name, history.FWrite, history.Fail, k.name, v)
			c.busy = arrives
			return
		}
	}
	ok := m.head.Resource == "" || k.mark == l.token || m.chance(m.wrong)
	for twin, fenced := range []bool{false, true} {
		if fenced && !m.head.Fencing {
			continue
		}
		applied := ok
		if fenced {
			applied = l.fence >= k.fence[twin] || m.chance(max(m.wrong, m.late))
		}
		x := *v
		x.Fenced = fenced
		typ := history.Fail
		if applied {
			typ = history.OK
			k.fence[twin] = max(k.fence[twin], l.fence)
		}
		m.add(arrives, history.Resource, history.FApply, typ, k.name, &x)
	}
	typ := history.Fail
	if ok {
		typ = history.OK
		k.last, k.value = k.value, v.Value
	}
	m.add(arrives, c.name, history.FWrite, typ, k.name, v)
	c.busy = arrives
}

// nemesis installs or heals a fault, or ends or stops a client.
func (m *maker) nemesis() {
	c := pick(m, m.clients)
	switch what := m.n(0, 7); {
	case what == 0: // the client ends, with or without naming its lease
		v := &history.Value{}
		if len(c.leases) > 0 {
			v.Token = c.leases[0].token
		}
		m.add(max(m.now, c.busy), c.name, history.FCrash, history.Info, "", v)
		*c = actor{name: c.name, busy: max(m.now, c.busy)}
	case what == 1 && c.busy <= m.now:
		c.busy = m.now + m.ticks(2*int(m.head.TTL/m.tick))
		m.add(m.now, c.name, history.FPaused, history.Invoke, "", &history.Value{Point: "critical-section"})
		if !m.chance(10) {
			m.add(c.busy, c.name, history.FPaused, history.OK, "", &history.Value{Point: "critical-section"})
		}
	case what <= 3 && len(m.faults) > 0:
		ids := slices.Sorted(maps.Keys(m.faults))
		m.heal(pick(m, ids))
	default:
		m.install()
	}
}

func (m *maker) install() {
	m.ids++
	name := pick(m, []string{"kill", "pause", "partition", "clock", "client-pause", "slow", "shutdown", "memory", "lying-fsync", "client-clock"})
	v := &history.Value{ID: m.ids, Phase: history.PhaseInstall}
	c := pick(m, m.clients)
	if name == "client-pause" || name == "client-clock" {
		v.Clients = []string{c.name}
	} else {
		v.Masters = []string{pick(m, m.masters).name}
		if name == "partition" && m.chance(50) {
			v.Clients = []string{c.name}
		}
	}
	m.add(m.now, history.Nemesis, name, history.Invoke, "", v)
	done := *v
	if m.chance(5) {
		m.add(m.now, history.Nemesis, name, history.Fail, "", &done).Error = "no target"
		return
	}
	at := m.now + m.ticks(1)
	m.add(at, history.Nemesis, name, history.OK, "", &done)
	m.faults[m.ids], m.names[m.ids] = v, name
	for _, s := range m.masters {
		if !slices.Contains(v.Masters, s.name) {
			continue
		}
		switch name {
		case "kill", "shutdown":
			s.down = true
			clear(s.keys)
			m.add(at, s.name, history.FState, history.Info, "", &history.Value{State: "down"})
		case "pause", "partition":
			s.quiet = true
			if m.chance(50) {
				m.add(at, s.name, history.FState, history.Info, "", &history.Value{State: "paused"})
			}
		}
	}
	if name == "client-pause" && c.busy <= at && m.chance(80) {
		c.busy = at + m.ticks(int(m.head.TTL/m.tick))
		m.add(at, c.name, history.FPaused, history.Invoke, "", &history.Value{Point: "x"})
		m.add(c.busy, c.name, history.FPaused, history.OK, "", &history.Value{Point: "x"})
	}
}

func (m *maker) heal(id int) {
	v, name := m.faults[id], m.names[id]
	delete(m.faults, id)
	x := &history.Value{ID: id, Phase: history.PhaseHeal}
	m.add(m.now, history.Nemesis, name, history.Invoke, "", x)
	done := *x
	done.Bit = m.chance(80)
	typ := history.OK
	if m.chance(m.wrong / 6) {
		typ = history.Info
	}
	m.add(m.now, history.Nemesis, name, typ, "", &done)
	for _, s := range m.masters {
		if slices.Contains(v.Masters, s.name) && (s.down || s.quiet) {
			s.down, s.quiet = false, false
			up := &history.Value{State: "up"}
			if m.chance(50) {
				up.Keys = map[string]string{}
				for key, c := range s.keys {
					up.Keys[key] = c.token
				}
			}
			m.add(m.now, s.name, history.FState, history.Info, "", up)
		}
	}
}

// look records what a master stores.
func (m *maker) look() {
	for _, s := range m.masters {
		if s.down || m.chance(30) {
			continue
		}
		v := &history.Value{Keys: map[string]string{}, Expires: map[string]time.Duration{}}
		for _, k := range m.keys {
			c, stored := s.keys[k.redis]
			if !stored || c.ends <= m.now && !m.chance(m.wrong) || m.chance(m.wrong/3) {
				continue
			}
			v.Keys[k.redis] = c.token
			if !m.chance(m.wrong / 3) {
				v.Expires[k.redis] = c.ends
			}
		}
		if m.chance(10) {
			v.Took = min(m.now-s.looked, m.tick) // a master is asked one thing after the other
		}
		s.looked = m.now
		switch {
		case m.chance(5):
			v.Keys, v.Expires = nil, nil
		case m.chance(5):
			v.Expires = nil
		}
		m.add(m.now, s.name, history.FLook, history.Info, "", v)
	}
}

// harness records what the harness says of itself, or a master that died of another cause.
func (m *maker) harness() {
	switch m.n(0, 9) {
	case 0:
		if m.chance(50) {
			m.add(m.now, pick(m, m.masters).name, history.FDied, history.Info, "", nil).Error = "gone"
		}
	case 1:
		if m.chance(50) {
			m.add(m.now, history.Harness, history.FInterrupted, history.Info, "", nil).Error = "interrupt"
		}
	default:
		took := m.ticks(6)
		m.now += took
		m.add(m.now, history.Harness, history.FStall, history.Info, "", &history.Value{Took: took})
	}
}

// finish heals what is to be healed, lets each client acquire, and ends the history.
func (m *maker) finish() {
	heals := m.chance(70)
	for _, id := range slices.Sorted(maps.Keys(m.faults)) {
		if heals || m.chance(30) {
			m.heal(id)
		}
	}
	if heals {
		bound := 5 * m.head.TTL
		healed := m.add(m.now, history.Nemesis, history.FHealed, history.Info, "", &history.Value{Bound: bound})
		if m.chance(4) {
			healed.Type = history.Fail
		}
		for range pick(m, []int{30, 60, 4}) {
			m.now += m.tick * time.Duration(pick(m, []int{1, 0, 1, 4}))
			if c := pick(m, m.clients); c.busy <= m.now && !c.lost {
				m.act(c)
			}
		}
		if m.chance(60) {
			m.now += bound
		}
	}
	for i := range m.ops {
		m.now = max(m.now, m.ops[i].Time)
	}
	if !m.chance(8) {
		m.add(m.now, history.Harness, history.FEnd, history.Info, "", nil)
	}
}

// history puts the lines in order, and mangles a few of some histories: what a recorder or
// a lock of other people may write is not what the maker thinks of.
func (m *maker) history() *history.History {
	slices.SortStableFunc(m.ops, func(a, b history.Op) int { return cmp.Compare(a.Time, b.Time) })
	if len(m.ops) > 1 && !m.correct && m.chance(20) {
		for range m.n(1, 4) {
			m.mangle()
		}
	}
	for i := range m.ops {
		m.ops[i].Index = i
	}
	return &history.History{Header: m.head, Ops: m.ops}
}

func (m *maker) mangle() {
	i := m.n(0, len(m.ops)-1)
	op := &m.ops[i]
	if op.F == history.FState || i > 0 && m.ops[i-1].F == history.FState {
		return // a master that is down is not asked, and one thing after the other
	}
	switch m.n(0, 3) {
	case 0:
		m.ops = slices.Delete(m.ops, i, i+1)
		if len(m.ops) == 0 {
			m.add(0, history.Harness, history.FEnd, history.Info, "", nil)
		}
	case 1: // two neighbours change their places
		if i > 0 {
			other := &m.ops[i-1]
			*op, *other = *other, *op
			op.Time, other.Time = other.Time, op.Time
		}
	case 2:
		if op.Value != nil && op.Value.Token != "" && op.F != history.FVote {
			v := *op.Value
			v.Token = fmt.Sprintf("t%d", m.n(1, m.tokens+1))
			op.Value = &v
		}
	case 3:
		if op.Value != nil && op.Value.ValidUntil != 0 {
			v := *op.Value
			v.ValidUntil = max(0, v.ValidUntil+m.ticks(8)-4*m.tick)
			op.Value = &v
		}
	}
}
