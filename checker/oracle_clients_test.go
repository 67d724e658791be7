package checker_test

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// act makes a client's next move.
func (m *maker) act(c *actor) {
	switch {
	case c.asking != "":
		m.try(c)
	case len(c.leases) == 0 || len(c.leases) == 1 && m.chance(3) || len(c.leases) < 3 && m.head.Kind == history.Reentrant && m.chance(20):
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
	c.asks = history.Value{}
	switch {
	case m.head.Kind == history.Multi:
		c.place = pick(m, []place{onFirst | onOther, onFirst, onFirst | onOther, onOther})
	case m.head.Kind == history.ReadWrite && m.chance(70):
		c.asks.Mode = history.ModeRead
	case m.head.Kind == history.Semaphore:
		c.asks.Permits = m.n(0, m.head.Permits)
	}
	if !m.chance(m.wrong / 8) {
		asks := c.asks
		m.add(m.now, c.name, history.FAcquire, history.Invoke, c.asking, &asks)
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
		if v.TTL = m.head.TTL; m.chance(m.wrong / 4) {
			v.TTL /= 2
		}
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

// ask sends a command to each master, which executes it immediately or never. It returns
// how many masters said yes and when the last of these answers arrived.
func (m *maker) ask(c *actor, k *guarded, token, command string) (yes int, by time.Duration) {
	by = m.now
	for _, s := range m.masters[:m.asked()] {
		if command == history.CommandRelease && m.chance(m.wrong/4) {
			continue // the lock forgets to send the release
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

// asked returns how many masters the lock sends commands to.
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
	if !m.head.LockKind().OneToken() { // what it stores is not a token
		return command != history.CommandSet || m.turn(c, k, !m.free(c, k))
	}
	switch command {
	case history.CommandSet:
		if !m.turn(c, k, stored) {
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

// try makes an attempt of a pending acquire, or ends the acquire.
func (m *maker) try(c *actor) {
	k := m.key(c.asking)
	switch {
	case c.undo != "": // release the keys that the last attempt may have set
		m.ask(c, k, c.undo, history.CommandRelease)
		c.undo = ""
		if m.chance(map[bool]int{false: 25, true: 4}[m.head.Fair]) {
			if m.head.DeadWaiter > 0 && m.chance(70) {
				m.vote(c, m.masters[0], k, "t0", history.CommandLeave, m.now, m.ticks(1), true, !m.chance(10))
			}
			m.giveUp(c, k)
		}
		return
	case m.chance(2):
		m.giveUp(c, k)
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
	if m.places[c.token] == 0 {
		m.places[c.token] = c.place
	}
	free := m.free(c, k)
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
	l := &held{asks: c.asks, client: c.name, key: k.name, token: c.token, until: until, promised: until, sent: m.now}
	if m.head.Fencing {
		m.fences++
		if l.fence = m.fences; m.chance(m.wrong) {
			l.fence = int64(m.n(0, int(m.fences)))
		}
	}
	k.free, k.holder, k.given = max(k.free, until), l, append(k.given, l)
	m.add(at, c.name, history.FAcquire, history.OK, k.name, &history.Value{Mode: l.asks.Mode, Permits: l.asks.Permits, Token: l.token, ValidUntil: until, Fence: l.fence})
	c.leases, c.asking, c.busy = append(c.leases, l), "", at
	if !m.reuse {
		c.token = ""
	}
}

// free says whether a correct lock may grant the key that a client asks for.
func (m *maker) free(c *actor, k *guarded) bool {
	all := []holder{asksFor(c.name, &c.asks)}
	for _, l := range k.given {
		if !l.released && l.promised > m.now {
			all = append(all, asksFor(l.client, &l.asks))
		}
	}
	if m.head.LockKind().OneToken() {
		return k.free <= m.now
	}
	return (&oracle{h: m.head}).mayShare(all)
}

// drop makes a client forget a lease.
func (c *actor) drop(l *held) {
	c.leases = slices.DeleteFunc(c.leases, func(x *held) bool { return x == l })
}

// use makes a move of a client under a lease. The client checks the clock first, unless it is wrong.
func (m *maker) use(c *actor, l *held) {
	k := m.key(l.key)
	if l.until < m.now+m.ticks(1) && !m.chance(max(m.wrong, m.late)) { // the lease is about to end, or is over
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
	switch pick(m, append([]string{"release", "enter", "write", "extend", "leave", "read", "clock", "lost"}, m.habits...)) {
	case "release":
		if l.wrote == 0 && slices.Contains(m.habits, "write") && m.chance(70) {
			m.write(c, k, l)
			return
		}
		if l.inside && !m.chance(m.wrong) {
			m.add(m.now, c.name, history.FLeave, history.Info, k.name, token())
		}
		m.release(c, l)
		if m.chance(m.faulty) { // a late notification: the lock said before the release that the lease is over
			m.add(m.now, c.name, history.FLost, history.Info, k.name, &history.Value{Token: l.token, Delay: m.ticks(2)})
		}
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
			v := token()
			v.Delay = m.ticks(2)
			m.add(m.now, c.name, history.FLeave, history.Info, k.name, v)
			l.inside = false
		}
	case "read":
		m.read(c, k, l)
	case "write":
		m.write(c, k, l)
	case "extend":
		m.extend(c, k, l)
	case "lost":
		if !m.chance(m.faulty + m.wrong) {
			return
		}
		m.add(m.now, c.name, history.FLost, history.Info, k.name, &history.Value{Token: l.token, Delay: m.ticks(2)})
	case "clock":
		if !m.chance(m.faulty + m.wrong) {
			return
		}
		if m.chance(30) { // the clock changes when the lease ends
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
	if m.votes && yes < m.head.Quorum && !m.chance(m.wrong) {
		typ = pick(m, []history.Type{history.Fail, history.Info})
	}
	m.add(by, c.name, history.FRelease, typ, k.name, &history.Value{Token: l.token})
	if k.holder == l {
		k.free = m.now
	}
	c.busy, l.released = by, true
}

func (m *maker) extend(c *actor, k *guarded, l *held) {
	mode := ""
	if m.head.Kind == history.ReadWrite && m.chance(60) {
		if mode = history.ModeRead; l.asks.Mode == history.ModeRead && m.chance(80) {
			mode = history.ModeWrite
		}
	}
	if auto := m.chance(15); !auto || mode != "" && !m.chance(m.wrong/2) {
		m.add(m.now, c.name, history.FExtend, history.Invoke, k.name, &history.Value{Token: l.token, Mode: mode})
	}
	alone := mode != history.ModeWrite || m.alone(k, l)
	if mode == history.ModeRead {
		l.asks.Mode = mode
	}
	yes, by := m.ask(c, k, l.token, history.CommandExtend)
	ok := by < l.until && (yes >= m.head.Quorum || !m.votes)
	if ok = ok && alone; m.chance(m.wrong) {
		ok = !ok
	}
	c.busy = by
	if !ok {
		m.add(by, c.name, history.FExtend, pick(m, []history.Type{history.Fail, history.Info}), k.name, &history.Value{Token: l.token, Mode: mode})
		if alone && m.asked()-yes >= m.head.Quorum && !m.chance(m.wrong) {
			l.until = min(l.until, by) // the lock knows that it has lost the lease
		}
		return
	}
	l.until = m.now + m.head.TTL - m.ticks(1)
	if m.chance(m.wrong) {
		l.until = by + m.ticks(int(m.head.TTL/m.tick)) - 2*m.tick
	}
	l.promised = l.until
	k.free = max(k.free, l.until)
	if mode == history.ModeWrite {
		l.asks.Mode = ""
	}
	m.add(by, c.name, history.FExtend, history.OK, k.name, &history.Value{Token: l.token, ValidUntil: l.until, Mode: mode})
}

// alone says whether nobody else holds a key.
func (m *maker) alone(k *guarded, l *held) bool {
	return !slices.ContainsFunc(k.given, func(x *held) bool { return x != l && !x.released && x.promised > m.now })
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
