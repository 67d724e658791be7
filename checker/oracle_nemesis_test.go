package checker_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"lockpick/history"
)

// nemesis installs or heals a fault, or crashes or pauses a client.
func (m *maker) nemesis() {
	c := pick(m, m.clients)
	switch what := m.n(0, 7); {
	case what == 0: // the client crashes; the line may name its lease
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
	done.TookEffect = m.chance(80)
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

// look records a snapshot of the masters.
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
			v.Took = min(m.now-s.looked, m.tick) // a master's snapshots do not overlap
		}
		s.looked = m.now
		switch {
		case m.chance(5):
			v.Keys, v.Expires = nil, nil
		case m.chance(5):
			v.Expires = nil
		}
		m.add(m.now, s.name, history.FSnapshot, history.Info, "", v)
	}
}

// harness records a stall, an interruption or a clock step of the harness, or a master that died of
// another cause.
func (m *maker) harness() {
	switch m.n(0, 9) {
	case 0:
		if m.chance(50) {
			m.add(m.now, pick(m, m.masters).name, history.FDied, history.Info, "", nil).Error = "gone"
		}
	case 1:
		if m.chance(30) {
			m.add(m.now, history.Harness, history.FStepped, history.Info, "", &history.Value{Took: m.ticks(3)}).Error = "set"
			return
		}
		if m.chance(50) {
			m.add(m.now, history.Harness, history.FInterrupted, history.Info, "", nil).Error = "interrupt"
		}
	default:
		took := m.ticks(6)
		m.now += took
		m.add(m.now, history.Harness, history.FStall, history.Info, "", &history.Value{Took: took})
	}
}

// finish heals all or some faults, lets clients acquire, and ends the history.
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
		if m.chance(30) {
			m.insist(bound)
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

// insist makes a client call acquire again and again. Each call is refused. The pauses are of different lengths, and the calls last about as
// long as a bound.
func (m *maker) insist(bound time.Duration) {
	c, key := pick(m, m.clients), pick(m, m.keys).name
	if c.busy > m.now || c.lost || c.asking != "" { // a client makes one call at a time
		return
	}
	at, end := m.now, m.now+bound+m.ticks(3)
	for range 40 {
		m.add(at, c.name, history.FAcquire, history.Invoke, key, nil)
		at += m.ticks(6)
		m.add(at, c.name, history.FAcquire, history.Fail, key, nil)
		if at >= end || m.chance(4) {
			break
		}
		at += m.tick * time.Duration(pick(m, []int{1, 0, 2, 3, 6}))
	}
	c.busy = at
}

// history sorts the lines, and mangles a few lines of some histories: other recorders and locks may
// write lines that the maker does not draw.
func (m *maker) history() *history.History {
	slices.SortStableFunc(m.ops, func(a, b history.Op) int { return cmp.Compare(a.Time, b.Time) })
	if len(m.ops) > 1 && !m.correct && m.chance(20) {
		for range m.n(1, 4) {
			m.mangle()
		}
	}
	for i := range m.ops {
		op := &m.ops[i]
		op.Index = i
		if v := op.Value; v != nil && v.Delay+v.Took > op.Time { // a mangled line; no event happens before the run
			short := *v
			short.Delay = min(v.Delay, op.Time)
			short.Took = min(v.Took, op.Time-short.Delay)
			op.Value = &short
		}
	}
	return &history.History{Header: m.head, Ops: m.ops}
}

func (m *maker) mangle() {
	i := m.n(0, len(m.ops)-1)
	op := &m.ops[i]
	if op.F == history.FState || i > 0 && m.ops[i-1].F == history.FState {
		return // keep the order of snapshots and states: no snapshot is taken of a master that is down
	}
	switch m.n(0, 3) {
	case 0:
		m.ops = slices.Delete(m.ops, i, i+1)
		if len(m.ops) == 0 {
			m.add(0, history.Harness, history.FEnd, history.Info, "", nil)
		}
	case 1: // swap two neighbours
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
