package checker_test

import (
	"slices"
	"time"

	"lockpick/history"
)

// drawQueue makes the lock one that claims to serve waiters in order, and the history one in which clients wait for it
// often.
func (m *maker) drawQueue() {
	h := &m.head
	h.Fair, h.Clients, h.Keys = true, m.n(2, 5), 1
	m.ordered = m.chance(70)
	m.votes, m.long = true, m.chance(80)
	m.habits = []string{"release", "release", "release"}
	if m.chance(70) {
		m.wrong, m.faulty, m.silent, m.reuse, m.slow, h.DeadWaiter = 0, 0, 0, false, 0, 5*time.Second
	}
}

// turn says whether a master grants a client a key, which is stored or free.
func (m *maker) turn(c *actor, k *guarded, stored bool) bool {
	if !m.ordered || m.head.Kind == history.Reentrant && slices.ContainsFunc(c.leases, func(l *held) bool { return l.key == k.name }) {
		return !stored
	}
	if !stored && (len(k.queue) == 0 || k.queue[0] == c.name) {
		k.leave(c)
		return true
	}
	if !slices.Contains(k.queue, c.name) {
		k.queue = append(k.queue, c.name)
	}
	return false
}

// leave removes a client from the queue.
func (k *guarded) leave(c *actor) {
	k.queue = slices.DeleteFunc(k.queue, func(name string) bool { return name == c.name })
}

// giveUp ends an acquire of a client without a grant.
func (m *maker) giveUp(c *actor, k *guarded) {
	k.leave(c)
	m.add(m.now, c.name, history.FAcquire, history.Fail, k.name, nil)
	c.asking = ""
}

// fairness finds the grants to acquires that came certainly later than one that waits.
func (o *oracle) fairness() (f finding) {
	f.late = true
	judged := 0
	for _, b := range o.askings() {
		if g := o.grantedBy(b); g != nil && o.alone(b) && !o.mayNest(b) {
			turns, proof := 0, never
			for _, a := range o.askings() {
				if a.key != b.key || a.client == b.client || a.line > b.line || a.to <= b.from || proof < never || o.mayShare([]holder{a.asks, b.asks}) {
					continue
				}
				first, at := o.servedFirst(a, b, g)
				if first || at < never {
					turns++
				}
				proof = min(proof, at)
			}
			if turns > 0 {
				judged++
			}
			if proof < never {
				f.found = append(f.found, violation{b.key, g.at, proof})
			}
		}
	}
	f.untested = !o.h.Fair || o.h.Duplicates || o.q != 1 || judged == 0
	f.rows = []row{{judged, 3}}
	return f
}

// sentFor returns the votes on the commands that a client sent for an acquire, from its call to the client's next
// call for the key, in the order in which they were sent.
func (o *oracle) sentFor(a asking, command string) (all []*vote) {
	next := never
	for _, x := range o.askings() {
		if x.client == a.client && x.key == a.key && x.line > a.line {
			next = min(next, x.from)
		}
	}
	for _, v := range o.votes {
		if v.client == a.client && v.key == a.key && v.sent >= a.from && v.sent < next && (command == "" || v.command == command) {
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(x, y *vote) int { return int(x.sent - y.sent) })
	return all
}

// grantedBy returns the last yes to a SET with the token of an acquire that was granted, or nil.
func (o *oracle) grantedBy(a asking) (g *vote) {
	for _, v := range o.sentFor(a, history.CommandSet) {
		if a.ok && v.yes && v.token == o.ops[a.back].Value.Token {
			g = v
		}
	}
	return g
}

// alone says whether no command of an earlier acquire of the client for the key can still change the queue: the one before
// was granted, and each of its commands was answered.
func (o *oracle) alone(a asking) bool {
	var before *asking
	for _, x := range o.askings() {
		if x.client == a.client && x.key == a.key && x.line < a.line {
			before = &x
		}
	}
	return before == nil || before.ok && !slices.ContainsFunc(o.sentFor(*before, ""), func(v *vote) bool { return v.unknown || o.ops[v.line].Error != "" })
}

// mayNest says whether the client of an acquire of a lock that is not a mutex may have the key already. It certainly has not if each of
// its commands before the call was answered, and as many releases as SETs with yes.
func (o *oracle) mayNest(b asking) bool {
	if o.h.Kind == "" {
		return false
	}
	held := 0
	for _, v := range o.votes {
		if v.client != b.client || v.key != b.key || v.sent >= b.from {
			continue
		}
		if v.unknown || o.ops[v.line].Error != "" || v.at >= b.from {
			return true
		}
		if v.yes && v.command == history.CommandSet {
			held++
		}
		if v.yes && v.command == history.CommandRelease {
			held--
		}
	}
	return held > 0
}

// servedFirst says whether the lock certainly served a, which was called first, before b, which was granted by g. Otherwise
// it returns the time at which it is certain that b overtook it.
func (o *oracle) servedFirst(a, b asking, g *vote) (first bool, overtaken time.Duration) {
	refused := func(v *vote) bool { return !v.yes && !v.unknown && o.ops[v.line].Error == "" }
	sets := o.sentFor(a, history.CommandSet)
	if !o.alone(a) || len(sets) < 2 || !refused(sets[0]) || !refused(sets[1]) || sets[1].at+o.slack >= b.from {
		return false, never
	}
	if mine := o.grantedBy(a); mine != nil && mine.at <= g.at {
		return true, never
	}
	i := slices.IndexFunc(sets, func(v *vote) bool { return v.sent > g.at+o.slack })
	if i < 0 {
		return false, never
	}
	lively := 250 * time.Millisecond
	if o.h.DeadWaiter > 0 {
		lively = o.h.DeadWaiter
	}
	for j, v := range sets[:i] {
		until := g.at // the next SET was executed by then
		if j+1 < i {
			until = sets[j+1].at
		}
		if !refused(v) || v.master != g.master || v.redis != g.redis || until-v.sent+o.slack > lively {
			return false, never
		}
	}
	if left := o.sentFor(a, history.CommandLeave); len(left) > 0 && left[0].sent <= sets[i].sent {
		return false, never
	}
	from, to := a.from-o.slack, g.at+o.slack
	for _, f := range o.faults {
		within := f.began <= to && from <= f.to
		if within && slices.Contains(f.masters, g.master) && slices.Contains([]string{"kill", "shutdown", "pause", "clock", "memory", "lying-fsync"}, f.name) {
			return false, never
		}
		if within && f.installed && f.name == "client-clock" && (slices.Contains(f.clients, a.client) || slices.Contains(f.clients, b.client)) {
			return false, never
		}
	}
	if o.restarted(g.master, from, to) || o.stalled(from, to) {
		return false, never
	}
	return false, sets[i].at
}
