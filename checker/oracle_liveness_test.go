package checker_test

import (
	"slices"
	"time"

	"lockpick/history"
)

// healing is the last recorded end of all faults.
type healing struct {
	line      int // -1 if the faults did not heal
	at, bound time.Duration
}

// gap is how long a client may pause and count as asking all the time.
func (h healing) gap() time.Duration {
	if h.bound > 25*time.Second {
		return h.bound / 100
	}
	return 250 * time.Millisecond
}

func (o *oracle) healing() healing {
	for i := len(o.ops) - 1; i >= 0; i-- {
		if op := o.ops[i]; op.F == history.FHealed {
			if op.Type == history.Fail || op.Error != "" || op.Value.Bound <= 0 {
				return healing{line: -1}
			}
			return healing{i, op.Time, op.Value.Bound}
		}
	}
	return healing{line: -1}
}

// cancelled says whether an interruption of the harness ended an acquire.
func (o *oracle) cancelled(a asking) bool {
	return !a.ok && a.to >= o.interrupted
}

func (o *oracle) deadlockFreedom() (f finding) {
	f.late = true
	h := o.healing()
	if h.line < 0 {
		f.invalid = true
		return f
	}
	keys, judged := map[string]bool{}, 0
	for _, a := range o.askings() {
		keys[a.key] = true
	}
	for key := range keys {
		tried, granted, last := false, false, false
		for _, a := range o.askings() {
			if a.key != key || a.back >= 0 && a.back < h.line || a.dropped || o.cancelled(a) {
				continue
			}
			tried = true
			granted = granted || a.ok && a.to <= h.at+h.bound
			last = last || a.from <= h.at+h.bound && a.to+h.gap() >= h.at+h.bound
		}
		switch {
		case granted:
			judged++
		case tried && o.h.DeadWaiter > 0 && min(o.end, o.interrupted) < h.at+h.bound+o.queueing(key, h.at, o.end):
		case tried && last && min(o.end, o.interrupted) >= h.at+h.bound:
			judged++
			f.found = append(f.found, violation{key, h.at, h.at + h.bound})
		}
	}
	o.blame(&f, h)
	f.invalid = f.invalid || len(keys) == 0
	f.rows = []row{{judged, len(keys)}}
	return f
}

// blame withdraws the violations if the machine stood still for too long after the healing.
func (o *oracle) blame(f *finding, h healing) {
	if len(f.found) > 0 && o.stood(h.at, o.end) > 0.05 {
		f.found, f.invalid = nil, true
	}
}

func (o *oracle) availability() (f finding) {
	f.late = true
	h := o.healing()
	if h.line < 0 {
		f.invalid = true
		return f
	}
	asked := map[string]bool{}
	for _, a := range o.askings() {
		if a.line < h.line || o.continued(a, h.line) {
			continue
		}
		to, granted, open := o.untilWhen(a)
		took := to - a.from
		if took < 0 || !granted && took < h.bound || open && took == h.bound {
			continue
		}
		if o.h.DeadWaiter > 0 && (took > h.bound || !granted) && took <= h.bound+o.queueing(a.key, a.from, to) {
			continue
		}
		asked[a.client] = true
		if !granted || took > h.bound {
			f.found = append(f.found, violation{a.key, a.from, to})
		}
	}
	o.blame(&f, h)
	f.rows = []row{{len(asked), o.h.Clients}}
	return f
}

// neighbour returns the acquire of the same key by the same client that was called last before another, or, with a step of 1,
// first after it; ok is false if there is none.
func (o *oracle) neighbour(a asking, step int) (found asking, ok bool) {
	for _, x := range o.askings() {
		if x.client != a.client || x.key != a.key || step < 0 && x.line >= a.line || step > 0 && x.line <= a.line {
			continue
		}
		if !ok || step < 0 && x.line > found.line || step > 0 && x.line < found.line {
			found, ok = x, true
		}
	}
	return found, ok
}

// asksAgain says whether a client that was refused asked again with the next of its acquires, soon enough to have asked all the time.
func (o *oracle) asksAgain(a, next asking) bool {
	return !a.ok && !a.dropped && !o.cancelled(a) && next.from-a.to <= o.healing().gap()
}

// continued says whether an acquire only continues what its client had asked since a line.
func (o *oracle) continued(a asking, line int) bool {
	former, ok := o.neighbour(a, -1)
	return ok && former.line >= line && o.asksAgain(former, a)
}

// untilWhen follows the acquires of a client from one on until a grant, or until it stops asking. Its time is before the
// acquire if nothing came of it.
func (o *oracle) untilWhen(a asking) (to time.Duration, granted, open bool) {
	to = a.from - 1
	for {
		if a.dropped || o.cancelled(a) {
			return to, false, false
		}
		to = a.to
		next, ok := o.neighbour(a, 1)
		if a.ok || a.open || !ok || !o.asksAgain(a, next) {
			return to, a.ok, a.open
		}
		a = next
	}
}

// troubled says whether a master, or a client's link to it, was known to be impaired at an instant:
// by a fault, or by the master's recorded state.
func (o *oracle) troubled(client, master string, t time.Duration) bool {
	for _, f := range o.faults {
		switch f.name {
		case "clock", "lying-fsync", "client-pause", "client-kill", "client-clock":
			continue
		}
		if f.installed && slices.Contains(f.masters, master) && (len(f.clients) == 0 || slices.Contains(f.clients, client)) && f.began <= t && t < f.to {
			return true
		}
	}
	broken := false
	for _, op := range o.states {
		if op.Time <= t && op.Process == master {
			broken = op.Value.State != "up"
		}
	}
	return broken
}

// used returns the masters that the lock uses: all of them, or, with a quorum of one, the masters
// that votes name.
func (o *oracle) used() (used []string) {
	for _, m := range o.masters() {
		if o.q > 1 || len(o.votes) == 0 || slices.ContainsFunc(o.votes, func(v *vote) bool { return v.master == m }) {
			used = append(used, m)
		}
	}
	return used
}

// spare returns how many of the used masters may fail without preventing a quorum.
func (o *oracle) spare() int { return len(o.used()) - o.q }

// unreachable returns how many of the used masters were troubled for a client at an instant.
func (o *oracle) unreachable(client string, t time.Duration) (n int) {
	for _, m := range o.used() {
		if o.troubled(client, m, t) {
			n++
		}
	}
	return n
}

// stands says whether a client stood still at an instant.
func (o *oracle) stands(client string, t time.Duration) bool {
	return within(o.pauses(client), t)
}

// asks says whether a client's acquire of a key was pending at an instant, or the instant lies in a
// gap of at most a quarter of a second between two of its acquires.
func (o *oracle) asks(client, key string, t time.Duration) bool {
	before, after := -never, never
	for _, a := range o.askings() {
		a.to = min(a.to, o.interrupted)
		if a.client != client || a.key != key || a.from >= a.to {
			continue
		}
		if a.from <= t && t < a.to {
			return true
		}
		if a.to <= t {
			before = max(before, a.to)
		}
		if a.from > t {
			after = min(after, a.from)
		}
	}
	return after-before <= 250*time.Millisecond
}

// wait is a time in which a client that could reach a quorum asked for a key all the time, no
// running client held the key, and none was granted it.
type wait struct {
	key      string
	from, to time.Duration
	granted  bool // it ended with a grant
	minor    bool // a client that asked could reach a quorum but not all masters
}

// changes returns all times at which a wait may begin or end, and the ends of the given spans.
func (o *oracle) changes(spans [][2]time.Duration) []time.Duration {
	all := []time.Duration{0, o.end}
	for _, s := range spans {
		all = append(all, s[0], s[1])
	}
	for _, op := range o.ops {
		all = append(all, op.Time)
	}
	for _, a := range o.acqs {
		all = append(all, a.over, a.relied())
		for _, g := range a.grants {
			all = append(all, g.until)
		}
	}
	all = slices.DeleteFunc(all, func(t time.Duration) bool { return t < 0 || t > o.end })
	slices.Sort(all)
	return slices.Compact(all)
}

// waits finds the waits by run one instant between any two successive changes. With quiet, it
// leaves out the times in wrong.
func (o *oracle) waits(quiet bool) []wait {
	if all, known := o.waitsOf[quiet]; known {
		return all
	}
	var all []wait
	var wrong [][2]time.Duration
	if quiet {
		wrong = o.wrong()
	}
	changes := o.changes(wrong)
	for _, key := range o.keys() {
		var now *wait
		minor := func(t time.Duration) bool { // whether a client that asks can reach a quorum but not all masters
			for i := range o.h.Clients {
				client := o.client(i)
				if slices.ContainsFunc(o.askings(), func(a asking) bool { return a.client == client && a.key == key && a.from <= t && t < a.to }) {
					if bad := o.unreachable(client, t); bad > 0 && bad <= o.spare() {
						return true
					}
				}
			}
			return false
		}
		end := func() {
			if now != nil {
				for _, a := range o.acqs {
					now.granted = now.granted || o.stopsWaits(a, key) && !a.dead() && a.grant == now.to
				}
				all = append(all, *now)
				now = nil
			}
		}
		for i, t := range changes[:len(changes)-1] {
			next := changes[i+1]
			mid := t + (next-t)/2
			if slices.ContainsFunc(o.acqs, func(a *acquisition) bool { return o.stopsWaits(a, key) && !a.dead() && a.grant == t }) {
				end()
			}
			asked := false
			for i := range o.h.Clients {
				client := o.client(i)
				if !o.asks(client, key, mid) || o.stands(client, mid) {
					continue
				}
				asked = asked || o.unreachable(client, mid) <= o.spare()
			}
			relied := slices.ContainsFunc(o.acqs, func(a *acquisition) bool {
				return o.stopsWaits(a, key) && !a.dead() && a.held(mid) && !o.stands(a.client, mid)
			})
			if !asked || relied || within(wrong, mid) {
				end()
				continue
			}
			if now == nil {
				now = &wait{key: key, from: t}
			}
			now.to = next
			now.minor = now.minor || minor(mid)
		}
		end()
	}
	o.waitsOf[quiet] = all
	return all
}

// stopsWaits says whether nobody waits for a key while a lease is held: its own, or any lease of a multi-lock.
func (o *oracle) stopsWaits(a *acquisition, key string) bool {
	return a.key == key || o.h.Kind == "multi"
}

// client returns the name of a client by its number.
func (o *oracle) client(i int) string { return []string{"c1", "c2", "c3", "c4", "c5", "c6"}[i] }

func (o *oracle) keys() (keys []string) {
	for _, a := range o.askings() {
		if !slices.Contains(keys, a.key) {
			keys = append(keys, a.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// within says whether an instant lies in one of the spans.
func within(spans [][2]time.Duration, t time.Duration) bool {
	for _, s := range spans {
		if s[0] <= t && t < s[1] {
			return true
		}
	}
	return false
}

// wrong returns the times of faults, stalls, pauses, crashes and missing answers, each with the
// time after it in which they may still delay a grant.
func (o *oracle) wrong() (all [][2]time.Duration) {
	lately := o.ttl + o.ttl/10 + time.Second
	add := func(from, to time.Duration) { all = append(all, [2]time.Duration{from, to + lately}) }
	for _, f := range o.faults {
		switch {
		case f.installed && f.name == "clock": // the changed expiries of the keys last
			add(f.began, never)
		case f.installed:
			add(f.began, f.to)
		}
	}
	for _, s := range o.stalls {
		add(s[0], s[1])
	}
	for i := range o.h.Clients {
		for _, p := range o.pauses(o.client(i)) {
			add(p[0], p[1])
		}
	}
	for _, a := range o.acqs { // its keys are released late or expire
		until := a.until
		for _, g := range a.grants {
			until = max(until, g.until)
		}
		if a.overLine < 0 || a.over >= until || a.killed {
			add(until, until)
		}
	}
	for _, op := range o.ops {
		if op.F == history.FCrash || op.F == history.FRelease && (op.Type == history.Info || op.Type == history.Fail) || op.F == history.FVote && op.Type == history.Info {
			add(op.Time, op.Time)
		}
	}
	return all
}

// patience returns the time within which campaigns require that a free lock is granted.
func (o *oracle) patience() time.Duration {
	return 2*o.ttl + 5*time.Second + time.Duration(o.h.Clients)*time.Duration(10+o.h.Keys)*20*time.Millisecond
}

// lostHolder says whether the last holder of a key had crashed or stood still when a wait began,
// and whether it stood still.
func (o *oracle) lostHolder(w wait) (lost, still bool) {
	var last *acquisition
	for _, a := range o.acqs {
		if a.key == w.key && a.grant <= w.from {
			last = a
		}
	}
	if last == nil {
		return false, false
	}
	if last.killed {
		return true, false
	}
	for _, p := range o.pauses(last.client) {
		if p[0] >= last.grant && p[0] <= w.from && p[1] > w.from && last.over >= p[0] {
			return true, true
		}
	}
	return false, false
}

// starved judges waits: a wait longer than a bound is a violation. If the holder stood still and
// may go on, a lock that renews its leases has more time.
func (o *oracle) starved(waits []wait, most, renewing time.Duration, judged int) (f finding) {
	f.late = true
	for _, w := range waits {
		bound := most
		if lost, still := o.lostHolder(w); lost && still {
			bound += renewing
		}
		bound += o.leftKeys(w)
		if w.to-w.from > bound && o.stood(w.from, w.to) <= 0.05 && (o.h.DeadWaiter == 0 || w.to-w.from > bound+o.queueing(w.key, w.from, w.to)) {
			f.found = append(f.found, violation{w.key, w.from, w.to})
		}
	}
	f.untested = judged == 0 && len(f.found) == 0
	f.rows = []row{{judged, 3}}
	return f
}

// leftKeys returns a TTL for each acquire that may have left its key on masters: its client crashed
// in the wait, or stood still in it without the answer no to all its SETs.
func (o *oracle) leftKeys(w wait) (more time.Duration) {
	for _, a := range o.askings() {
		if a.key != w.key && o.h.Kind != "multi" || a.from >= w.to || a.to <= w.from {
			continue
		}
		stood := false
		for t := max(a.from, w.from); t < min(a.to, w.to); t += o.tick {
			stood = stood || o.stands(a.client, t)
		}
		heard, no := false, true
		for _, v := range o.votes {
			if v.client == a.client && v.key == a.key && v.command == history.CommandSet && v.sent >= a.from && v.sent <= a.to+o.slack {
				heard, no = true, no && !v.yes && !v.unknown
			}
		}
		if a.dropped || stood && !(heard && no) {
			more += o.ttl
		}
	}
	return more
}

func (o *oracle) holderLoss() finding {
	var mine []wait
	judged := 0
	for _, w := range o.waits(false) {
		if lost, _ := o.lostHolder(w); lost {
			mine = append(mine, w)
			if w.granted {
				judged++
			}
		}
	}
	return o.starved(mine, o.patience(), o.h.HungHolder, judged)
}

func (o *oracle) minorityFailure() finding {
	judged := 0
	for _, a := range o.acqs {
		for _, t := range []time.Duration{a.grant, a.grant - 1} { // at the edge of a fault, either side counts
			if bad := o.unreachable(a.client, t); !a.dead() && bad > 0 && bad <= o.spare() {
				judged++
				break
			}
		}
	}
	var mine []wait
	for _, w := range o.waits(false) {
		if lost, _ := o.lostHolder(w); !lost && w.minor {
			mine = append(mine, w)
		}
	}
	return o.starved(mine, o.patience(), 0, judged)
}

func (o *oracle) progress() finding {
	judged := 0
	for _, w := range o.waits(true) {
		if w.granted {
			judged++
		}
	}
	return o.starved(o.waits(true), 2*time.Second+time.Duration(o.h.Clients)*200*time.Millisecond, 0, judged)
}

// wakeUp finds the parts of waits in which no SET for the key was on its way for longer than the lock may pause.
func (o *oracle) wakeUp() (f finding) {
	f.late = true
	slowest := time.Duration(0)
	for _, v := range o.votes {
		slowest = max(slowest, v.at-v.sent)
	}
	bound := o.h.Retry + 250*time.Millisecond + 2*slowest + o.slack
	judged := 0
	for _, w := range o.waits(true) {
		known := true
		for _, a := range o.askings() {
			if a.key == w.key && a.from < w.to && a.to > w.from {
				known = known && slices.ContainsFunc(o.votes, func(v *vote) bool { return v.client == a.client && v.command == history.CommandSet })
			}
		}
		if !known {
			continue
		}
		if w.granted {
			judged++
		}
		ends := []time.Duration{w.to}
		for _, v := range o.votes {
			if v.key == w.key && v.command == history.CommandSet && v.sent < w.to && v.at >= w.from {
				ends = append(ends, v.sent)
			}
		}
		for _, to := range ends {
			from := w.from
			for _, v := range o.votes {
				if v.key == w.key && v.command == history.CommandSet && v.sent < to {
					from = max(from, v.at)
				}
			}
			if at := (violation{w.key, from, to}); to-from > bound && !slices.Contains(f.found, at) {
				f.found = append(f.found, at)
			}
		}
	}
	f.untested = o.h.Retry == 0 || judged == 0 && len(f.found) == 0
	f.rows = []row{{max(judged, len(f.found)), 3}}
	if f.untested {
		f.found = nil
	}
	return f
}
