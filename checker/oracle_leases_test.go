package checker_test

import (
	"slices"
	"time"

	"lockpick/history"
)

func (o *oracle) uniqueTokens() (f finding) {
	for i, b := range o.acqs {
		for _, a := range o.acqs[:i] {
			if a.key == b.key && a.token == b.token {
				f.add(b.key, b.grant)
				break
			}
		}
	}
	f.rows = o.need(o.grantTimes(func(*acquisition) bool { return true }))
	return f
}

// grantTimes returns when the acquisitions were granted for which counts is true.
func (o *oracle) grantTimes(counts func(*acquisition) bool) (at []time.Duration) {
	for _, a := range o.acqs {
		if counts(a) {
			at = append(at, a.grant)
		}
	}
	return at
}

func (o *oracle) contendedGrants() []row { return o.need(o.grantTimes(o.contended)) }

// mutualExclusion finds the holds that begin at an instant at which not all holders of their key may have it.
func (o *oracle) mutualExclusion() (f finding) {
	for _, b := range o.acqs {
		for t := b.grant; t <= o.end; t += o.tick {
			if begins := b.held(t) && (!(t > b.grant && b.held(t-o.tick)) || o.upgradedAt(b, t)); begins && !o.mayShare(o.holdersAt(b.key, t, nil)) {
				f.add(b.key, t)
			}
		}
	}
	f.rows = o.contendedGrants()
	return f
}

func (o *oracle) deadOnArrival() (f finding) {
	if !slices.Contains(o.h.Properties, "dead-on-arrival") {
		return finding{untested: true}
	}
	slack := max(10*time.Millisecond, o.slack)
	for _, a := range o.acqs {
		if a.grant-a.until > slack {
			f.add(a.key, a.grant)
		}
	}
	f.rows = o.need(o.grantTimes(func(*acquisition) bool { return true }))
	return f
}

// section is the time in which a client was in a critical section.
type section struct {
	key, client, token string
	line               int
	of                 *acquisition
	from, to           time.Duration
}

// sections returns the critical sections. Each lasts from enter to leave, to the release or to the
// crash; if none of these was recorded, to the last line that shows the client in the section.
func (o *oracle) sections() (all []section) {
	for i, op := range o.ops {
		if op.F != history.FEnter {
			continue
		}
		s := section{key: op.Key, client: op.Process, token: op.Value.Token, line: i, of: o.owner(i), from: op.Time, to: op.Time}
		if slices.ContainsFunc(all, func(x section) bool { // the client was in the section already
			return x.client == s.client && x.token == s.token && x.key == s.key && x.line < i && !o.left(x, i)
		}) {
			continue
		}
		last := op.Time
		for _, x := range o.ops[i+1:] {
			if x.Process != op.Process {
				continue
			}
			mine := x.Value.Token == s.token && x.Key == s.key
			if x.F == history.FCrash || mine && x.F == history.FLeave || mine && x.F == history.FRelease && x.Type == history.Invoke {
				s.to = x.Time
				if x.F == history.FLeave {
					s.to = max(x.Time-x.Value.Delay, last)
				}
				break
			}
			if mine && x.F != history.FLost || x.F == history.FPaused {
				s.to = x.Time
				last = x.Time
			}
		}
		all = append(all, s)
	}
	return all
}

// left says whether a section had been left before a line.
func (o *oracle) left(s section, line int) bool {
	for _, x := range o.ops[s.line+1 : line] {
		if x.Process != s.client {
			continue
		}
		mine := x.Value.Token == s.token && x.Key == s.key
		if x.F == history.FCrash || mine && x.F == history.FLeave || mine && x.F == history.FRelease && x.Type == history.Invoke {
			return true
		}
	}
	return false
}

func (o *oracle) beliefExclusion() (f finding) {
	all := o.sections()
	if len(all) == 0 {
		return finding{untested: true}
	}
	for i := range all { // a client that stands still in a section leaves it late
		if s := &all[i]; s.of != nil {
			if over, late := o.excusedLate(s.of, s.to); late {
				s.to = max(s.from, over)
			}
		}
	}
	var at []time.Duration
	mayBegin := func(b section, t time.Duration) bool {
		var inside []holder
		for _, a := range all {
			if a.key == b.key && a.from <= t && t < a.to {
				x := holder{client: a.client, reads: true, takes: 1} // without a known lease: what disturbs nobody
				if a.of != nil {
					x = a.of.asksAt(t)
				}
				inside = append(inside, x)
			}
		}
		return o.mayShare(inside)
	}
	for _, b := range all {
		for t := b.from; t < b.to; t += o.tick {
			if (t == b.from || b.of != nil && o.upgradedAt(b.of, t)) && !mayBegin(b, t) {
				f.add(b.key, t)
			}
		}
		if b.of != nil && o.contended(b.of) {
			at = append(at, b.from)
		}
	}
	f.rows = o.need(at)
	return f
}

// before returns an acquisition as it was known before a line.
func (a *acquisition) before(line int) *acquisition {
	b := *a
	b.grants = slices.DeleteFunc(slices.Clone(a.grants), func(g grant) bool { return g.line >= line })
	if a.overLine >= line {
		b.over, b.overLine = never, -1
	}
	return &b
}

// overSince says whether a lease was over at an instant, and since when.
func (a *acquisition) overSince(t, tick time.Duration) (time.Duration, bool) {
	if a.held(t) {
		return 0, false
	}
	since := a.grant
	if a.dead() {
		since = min(a.until, a.relied())
	}
	for s := a.grant; s < t; s += tick {
		if a.held(s) {
			since = s + tick
		}
	}
	// An extension that was over when it returned still says when the validity ended.
	for _, g := range a.grants {
		if until := min(g.until, a.relied()); g.at <= t && until <= g.at {
			since = max(since, until)
		}
	}
	return since, true
}

// lost returns the time of the first extension that so many masters refused that no quorum can
// store the token any more.
func (o *oracle) lost(a *acquisition, before int) (time.Duration, bool) {
	for i := a.line + 1; i < before; i++ {
		op := o.ops[i]
		if op.Process != a.client || op.F != history.FExtend || op.Type == history.Invoke || op.Value.Mode == "write" || o.owner(i) != a {
			continue
		}
		call := o.invocation(i)
		if call < 0 {
			continue
		}
		refused := map[string]bool{}
		for _, v := range o.votes {
			if o.of(v, a) && v.command == history.CommandExtend && !v.yes && !v.unknown && v.sent >= o.ops[call].Time && v.at <= op.Time {
				refused[v.master] = true
			}
		}
		if o.n-len(refused) < o.q {
			return op.Time, true
		}
	}
	return 0, false
}

// of says whether a vote is on a command of an acquisition: same client, key and token.
func (o *oracle) of(v *vote, a *acquisition) bool {
	return v.client == a.client && v.key == a.key && v.token == a.token
}

func (o *oracle) notified() (f finding) {
	slack := max(o.ttl/20, o.slack)
	var at []time.Duration
	for i, op := range o.ops {
		write := op.F == history.FWrite && op.Type == history.Invoke
		if op.F != history.FEnter && !write || op.Value.Token == "" {
			continue
		}
		at = append(at, op.Time)
		if write && !o.carriedOut(i) {
			continue
		}
		a := o.owner(i)
		if a == nil {
			f.add(op.Key, op.Time)
			continue
		}
		since, over := a.before(i).overSince(op.Time, o.tick)
		if late, also := a.overSince(op.Time, o.tick); !also { // the lease was extended at the same instant
			over = false
		} else {
			since = max(since, late)
		}
		if lost, ok := o.lost(a, i); ok && (!over || lost+slack < op.Time) {
			since, over = lost, true
		}
		if !over || op.Time-since <= slack || o.stopped(op.Process, since-slack, op.Time) || o.stalled(since-slack, op.Time) {
			continue
		}
		f.add(op.Key, op.Time)
	}
	f.untested = len(at) == 0
	f.slack = true
	f.rows = o.need(at)
	return f
}

// carriedOut says whether the write whose invocation is at a line returned ok.
func (o *oracle) carriedOut(line int) bool {
	for _, x := range o.ops[line+1:] {
		if x.Process == o.ops[line].Process && x.F == history.FWrite {
			return x.Type == history.OK
		}
	}
	return false
}

// begin returns when the first SET with a lease's token was sent within the acquire, or, if no vote
// on one was recorded, the time and the line of the call.
func (o *oracle) begin(a *acquisition) (time.Duration, int) {
	first := never
	for _, v := range o.votes {
		if o.of(v, a) && v.command == history.CommandSet && v.sent >= a.called && v.sent <= a.grant {
			first = min(first, v.sent)
		}
	}
	if first < never {
		return first, -1
	}
	return a.called, a.call
}

// later says whether b is certainly later than a.
func (o *oracle) later(b, a *acquisition) bool {
	began, line := o.begin(b)
	if began == a.grant && line >= 0 {
		return line > a.line
	}
	return began > a.grant
}

// writers returns the acquisitions under which a write may have been made: those granted with its
// token before it.
func (o *oracle) writers(op history.Op) (all []*acquisition) {
	for _, a := range o.acqs {
		if a.key == op.Key && a.token == op.Value.Token && a.line < op.Index {
			all = append(all, a)
		}
	}
	return all
}

// owners returns the acquisitions under which a write may have been made, and for a re-entrant lock also the others of the
// client that made it: it may have acquired the key again.
func (o *oracle) owners(op history.Op) []*acquisition {
	all := o.writers(op)
	if o.h.Kind != "reentrant" || len(all) == 0 {
		return all
	}
	var mine []*acquisition
	for _, a := range o.acqs {
		if a.key == op.Key && a.line < op.Index && (a.token == op.Value.Token || a.client == all[len(all)-1].client) {
			mine = append(mine, a)
		}
	}
	return mine
}

// lastContended says whether the last of some acquisitions was contended.
func (o *oracle) lastContended(all []*acquisition) bool {
	return len(all) > 0 && o.contended(all[len(all)-1])
}

// certainlyLater says whether x's lease is later than y's, for every pair of acquisitions with
// their tokens.
func (o *oracle) certainlyLater(x, y history.Op) bool {
	later, earlier := o.writers(x), o.owners(y)
	for _, b := range later {
		for _, a := range earlier {
			if a == b || !o.later(b, a) {
				return false
			}
		}
	}
	return len(later) > 0 && len(earlier) > 0
}

// staleWrites finds the writes that were applied after a write of a lease that is certainly later.
func (o *oracle) staleWrites(fenced bool) (f finding) {
	var at []time.Duration
	tested := false
	for i, op := range o.ops {
		if op.F != history.FApply || op.Value.Fenced != fenced {
			continue
		}
		if op.Type != history.OK {
			tested = tested || op.Type == history.Fail
			continue
		}
		tested = tested || len(o.writers(op)) > 0
		if o.lastContended(o.owners(op)) {
			at = append(at, op.Time)
		}
		if all := o.owners(op); !fenced && len(all) > 0 {
			if _, late := o.excusedLate(all[len(all)-1], op.Time); late {
				continue
			}
		}
		if slices.ContainsFunc(o.ops[:i], func(x history.Op) bool {
			return x.F == history.FApply && x.Type == history.OK && x.Value.Fenced == fenced && x.Key == op.Key && o.certainlyLater(x, op)
		}) {
			f.add(op.Key, op.Time)
		}
	}
	f.untested = !tested
	f.rows = o.need(at)
	return f
}

func (o *oracle) noStaleWrite() finding { return o.staleWrites(false) }

func (o *oracle) fencedWrites() finding {
	if !o.h.Fencing {
		return finding{untested: true}
	}
	return o.staleWrites(true)
}

// noLostUpdate finds the writes that replaced another value than the one that their client last
// read or wrote under their token: a write is computed from that value.
func (o *oracle) noLostUpdate() (f finding) {
	if o.h.Resource == "" {
		return finding{untested: true}
	}
	var at []time.Duration
	tested := false
	for i, op := range o.ops {
		if op.F != history.FApply || op.Value.Fenced {
			continue
		}
		tested = true
		if op.Type != history.OK {
			continue
		}
		var from, before *int64
		for _, x := range o.ops[:i] {
			if x.Key != op.Key || x.Value.Fenced || x.Type != history.OK {
				continue
			}
			value := x.Value.Value
			if x.F == history.FApply {
				before = &value
			}
			if (x.F == history.FApply || x.F == history.FRead) && x.Value.Token == op.Value.Token {
				from = &value
			}
		}
		if from == nil {
			continue
		}
		if o.lastContended(o.writers(op)) {
			at = append(at, op.Time)
		}
		if before != nil && *from != *before {
			f.add(op.Key, op.Time)
		}
	}
	f.untested = !tested
	f.rows = o.need(at)
	return f
}

func (o *oracle) fencingMonotone() (f finding) {
	if !o.h.Fencing {
		return finding{untested: true}
	}
	for _, b := range o.acqs {
		for _, a := range o.acqs {
			if a != b && a.key == b.key && a.fence != 0 && b.fence != 0 && !a.asks.reads && !b.asks.reads && b.fence <= a.fence && o.later(b, a) {
				f.add(b.key, b.grant)
				break
			}
		}
	}
	f.rows = o.need(o.grantTimes(func(a *acquisition) bool { return a.fence != 0 && !a.asks.reads && o.contended(a) }))
	return f
}

// extension finds the extensions that returned ok after the end of the validity that they extend,
// without a quorum, or after the release.
func (o *oracle) extension() (f finding) {
	var at []time.Duration
	for _, a := range o.acqs {
		for i, g := range a.grants[1:] {
			if g.skewed {
				continue
			}
			at = append(at, g.at)
			backed, known := o.backed(a, i+1)
			before := a.grants[i]
			end := before.until
			if !before.skewed {
				end += o.ttl / 50 // the margin for the drift of clocks
			}
			late := g.at - end
			if still := time.Duration(o.stood(end, g.at) * float64(late)); late > 0 && still > 0 && late <= still+o.slack {
				late = 0 // the recorder stood still and could not record it earlier
			}
			freed := g.asked >= 0 && a.overLine >= 0 && g.asked > a.overLine && o.ops[a.overLine].F == history.FRelease && o.ops[a.overLine].Type == history.Invoke
			if late > 0 || freed || known && !backed {
				f.add(a.key, g.at)
			}
		}
	}
	f.untested = len(at) == 0
	f.rows = o.needs(at, 5, 1)
	return f
}
