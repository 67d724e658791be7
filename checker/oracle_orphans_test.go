package checker_test

import (
	"slices"
	"time"

	"lockpick/history"
)

// sent holds all commands of one client to one master about one key under one token.
type sent struct {
	master, client, key, redis, token string
	sets, extends, releases           []*vote
}

func (o *oracle) sent() (all []*sent) {
	if o.commands != nil {
		return o.commands
	}
	defer func() { o.commands = all }()
	for _, v := range o.votes {
		i := slices.IndexFunc(all, func(x *sent) bool {
			return x.master == v.master && x.client == v.client && x.key == v.key && x.token == v.token
		})
		if i < 0 {
			i = len(all)
			all = append(all, &sent{master: v.master, client: v.client, key: v.key, redis: v.redis, token: v.token})
		}
		switch x := all[i]; v.command {
		case history.CommandSet:
			x.sets = append(x.sets, v)
		case history.CommandExtend:
			x.extends = append(x.extends, v)
		case history.CommandRelease:
			x.releases = append(x.releases, v)
		}
	}
	return all
}

func unanswered(v *vote) bool { return v.unknown }

func last(votes []*vote) (at time.Duration) {
	for _, v := range votes {
		at = max(at, v.at)
	}
	return at
}

// over returns when a client no longer needed its token: when its release returned, or when the
// attempt was over.
func (o *oracle) over(x *sent) (at time.Duration, ok bool) {
	for _, v := range o.votes { // several clients may use one weak token
		if v.master == x.master && v.key == x.key && v.token == x.token && v.client != x.client {
			return 0, false
		}
	}
	granted := slices.ContainsFunc(o.acqs, func(a *acquisition) bool { return a.client == x.client && a.token == x.token })
	if granted {
		for _, op := range o.ops {
			if op.Process == x.client && op.F == history.FRelease && op.Type != history.Invoke && op.Value.Token == x.token {
				at, ok = op.Time, true
			}
		}
		return at, ok
	}
	began := x.sets[0].sent
	var mine *asking
	for _, a := range o.askings() {
		if a.client == x.client && a.from <= began && (o.h.Kind != "multi" || a.key == x.key) && (mine == nil || mine.from < began) {
			mine = &a
		}
	}
	if mine == nil || mine.open || mine.key != x.key || mine.to < began {
		return 0, false
	}
	at = mine.to
	for _, v := range o.votes { // the client's next attempt
		if v.command == history.CommandSet && v.client == x.client && v.key == x.key && v.token != x.token && v.sent >= began {
			at = min(at, v.sent)
		}
	}
	return at, true
}

// reachable says whether a master and a client's link to it were not known to be impaired at any
// instant between two times.
func (o *oracle) reachable(client, master string, from, to time.Duration) bool {
	for t := from; t <= to; t++ {
		if o.troubled(client, master, t) || o.troubled(client, master, t-1) {
			return false
		}
		// Nothing changes between two ticks.
		t = max(t, min(to, (t/o.tick+1)*o.tick)-1)
		if t == to {
			break
		}
	}
	return true
}

// orphaned says whether a snapshot proves that the lock left a key behind.
func (o *oracle) orphaned(x *sent, look history.Op, over time.Duration, ghosts bool) bool {
	began, seen := x.sets[0].sent-o.slack, look.Time-look.Value.Took-look.Value.Delay
	if o.crashed(x.client, began, look.Time) || o.stopped(x.client, began, look.Time) || o.restarted(x.master, began, look.Time) {
		return false
	}
	var heard []*vote
	for _, v := range x.releases {
		if !v.unknown {
			heard = append(heard, v)
		}
	}
	since := over
	if len(heard) > 0 {
		since = min(since, last(heard))
	}
	if slices.ContainsFunc(append(slices.Clone(x.sets), x.extends...), func(v *vote) bool { return v.sent > since }) {
		return false // the key was set again
	}
	clean := !slices.ContainsFunc(x.sets, unanswered) && !slices.ContainsFunc(x.extends, unanswered)
	late := seen > over+max(o.ttl/4, min(500*time.Millisecond, o.ttl/2))
	if ghosts {
		return len(heard) > 0 && seen > last(heard) && !clean
	}
	switch {
	case len(x.releases) == 0:
		return late && !o.stalled(over, look.Time)
	case len(heard) > 0:
		return seen > last(heard) && clean
	default:
		return late && clean && last(x.releases) < seen && !o.stalled(began, look.Time) && o.reachable(x.client, x.master, began, look.Time)
	}
}

func (o *oracle) orphans(ghosts bool) (f finding) {
	f.late, f.slack = true, true
	if len(o.snapshots()) == 0 {
		return finding{untested: true}
	}
	judged := false
	var at []time.Duration
	for _, x := range o.sent() {
		set := slices.ContainsFunc(x.sets, func(v *vote) bool { return v.yes || v.unknown })
		if !set {
			continue
		}
		over, done := o.over(x)
		if !done {
			continue
		}
		judged = true
		for _, s := range o.snapshots() {
			if s.master == x.master && s.from > over && s.from < over+o.ttl {
				at = append(at, s.to)
				break
			}
		}
		for _, op := range o.ops {
			if op.F != history.FSnapshot || op.Process != x.master || op.Value.Keys == nil || op.Value.Keys[x.redis] != x.token {
				continue
			}
			seen := op.Time - op.Value.Took - op.Value.Delay
			if seen > over && o.orphaned(x, op, over, ghosts) {
				f.found = append(f.found, violation{x.key, over, max(over, seen)})
				break
			}
		}
	}
	f.untested = !judged
	f.rows = o.need(at)
	return f
}

// released compares each release that returned ok with what the masters stored then.
func (o *oracle) released() (f finding) {
	f.late, f.slack = true, true
	if len(o.snapshots()) == 0 {
		return finding{untested: true}
	}
	var at []time.Duration
	for i, op := range o.ops {
		a := o.owner(i)
		call := o.invocation(i)
		if op.F != history.FRelease || op.Type != history.OK || a == nil || call < 0 || o.ops[call].Time != a.over ||
			!slices.ContainsFunc(a.grants, func(g grant) bool { return a.over < g.until }) {
			continue
		}
		looked := false
		var shown []time.Duration // when each master that still stores it had shown that
		for _, x := range o.sent() {
			if x.client != a.client || x.key != a.key || x.token != a.token || len(x.sets) == 0 {
				continue
			}
			for _, s := range o.snapshots() {
				looked = looked || s.master == x.master && s.from > op.Time && s.from < op.Time+o.ttl
			}
			if s := o.unreleased(x, a.over, op.Time); s >= 0 {
				shown = append(shown, s)
			}
		}
		if looked {
			at = append(at, op.Time)
		}
		slices.Sort(shown)
		for i, s := range shown { // the first instant at which too few masters are left to others
			if o.n-(i+1) < o.q || o.q == 1 {
				f.found = append(f.found, violation{a.key, op.Time, max(op.Time, s)})
				break
			}
		}
	}
	f.untested = len(at)+len(f.found) == 0 // what is proven later than a TTL after the release is proven
	f.rows = o.need(at)
	return f
}

// unreleased returns when the first snapshot began that proves that a master had not confirmed a release when it returned, or -1.
func (o *oracle) unreleased(x *sent, called, returned time.Duration) time.Duration {
	set := false
	for _, v := range x.sets {
		set = set || v.yes
	}
	for _, v := range append(slices.Clone(x.sets), x.extends...) {
		if v.sent >= called {
			return -1
		}
	}
	for _, v := range x.releases {
		if !v.unknown && v.at <= returned+o.slack {
			return -1
		}
	}
	for _, v := range o.votes { // several clients may use one weak token
		if v.master == x.master && v.key == x.key && v.token == x.token && v.client != x.client {
			return -1
		}
	}
	for _, op := range o.ops {
		began := op.Time - op.Value.Took - op.Value.Delay
		if set && op.F == history.FSnapshot && op.Process == x.master && op.Value.Keys != nil && op.Value.Keys[x.redis] == x.token &&
			began > returned+o.slack && !o.restarted(x.master, called, op.Time) {
			return began
		}
	}
	return -1
}

func (o *oracle) orphanKeys() finding { return o.orphans(false) }

func (o *oracle) ghostKeys() finding {
	if !slices.Contains(o.h.Properties, "ghost-keys") {
		return finding{untested: true}
	}
	return o.orphans(true)
}
