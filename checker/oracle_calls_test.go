package checker_test

import (
	"slices"
	"time"

	"lockpick/history"
)

// calls returns the times of the calls of the lock.
func (o *oracle) calls() (at []time.Duration) {
	for _, op := range o.ops {
		if op.Type == history.Invoke && slices.Contains([]string{history.FAcquire, history.FExtend, history.FRelease}, op.F) {
			at = append(at, op.Time)
		}
	}
	return at
}

func (o *oracle) returned(wrong string) (f finding) {
	calls := o.calls()
	for _, op := range o.ops {
		if op.F == wrong {
			f.add(op.Key, op.Time)
		}
	}
	f.untested = len(calls)+len(f.found) == 0
	f.rows = o.need(calls)
	return f
}

func (o *oracle) returns() finding { return o.returned(history.FHung) }
func (o *oracle) noCrash() finding { return o.returned(history.FPanicked) }

// attempt holds the SETs of one client with one token, at most one to each master, and none that was sent after a release.
type attempt struct {
	client, key, token string
	began, next        time.Duration // when the first SET was sent, and when the first SET of the client's next attempt was
	sets               []*vote
	over               bool // it was released
}

func (o *oracle) attempts() (all []*attempt) {
	left := slices.DeleteFunc(slices.Clone(o.votes), func(v *vote) bool { return v.command != history.CommandSet && v.command != history.CommandRelease })
	for len(left) > 0 {
		first := 0 // the command that was sent first
		for i, v := range left {
			if w := left[first]; v.sent < w.sent || v.sent == w.sent && (v.at < w.at || v.at == w.at && v.line < w.line) {
				first = i
			}
		}
		v := left[first]
		left = slices.Delete(left, first, first+1)
		var mine *attempt // the latest attempt with its token
		var last *attempt // the latest attempt of its client
		for _, a := range all {
			if a.client == v.client {
				last = a
				if a.key == v.key && a.token == v.token {
					mine = a
				}
			}
		}
		if v.command == history.CommandRelease {
			if mine != nil {
				mine.over = true
			}
			continue
		}
		if mine == nil || mine.over || slices.ContainsFunc(mine.sets, func(w *vote) bool { return w.master == v.master }) {
			mine = &attempt{client: v.client, key: v.key, token: v.token, began: v.sent, next: never}
			all = append(all, mine)
			if last != nil {
				last.next = v.sent
			}
		}
		mine.sets = append(mine.sets, v)
	}
	return all
}

func (o *oracle) quorumGranted() (f finding) {
	f.late = true
	if o.h.Fencing {
		return finding{untested: true}
	}
	h := o.healing()
	var at []time.Duration
	for _, s := range o.attempts() {
		var yes []time.Duration
		for _, v := range s.sets {
			if v.yes {
				yes = append(yes, v.at)
			}
		}
		slices.Sort(yes)
		if len(yes) < o.q {
			continue
		}
		by := yes[o.q-1]
		var mine, next *asking
		for _, a := range o.askings() {
			switch {
			case a.client != s.client:
			case a.from <= s.began && (mine == nil || mine.from < s.began):
				mine, next = &a, nil
			case mine != nil && next == nil:
				next = &a
			}
		}
		if mine == nil {
			continue
		}
		if mine.ok && o.ops[mine.back].Value.Token == s.token && mine.key == s.key {
			at = append(at, by)
			continue
		}
		again := s.next <= mine.to && s.next > by
		cancelled := mine.to-mine.from >= 3*o.ttl || next == nil || h.line >= 0 && mine.from < h.at && next.from >= h.at
		skewed := slices.ContainsFunc(o.faults, func(f *fault) bool {
			return f.name == "client-clock" && f.installed && slices.Contains(f.clients, s.client) && f.began <= mine.to && s.began <= f.to
		})
		switch {
		case by-s.began > o.ttl/2, mine.open, mine.key != s.key, mine.to < by, mine.to >= o.interrupted, !again && (cancelled || mine.ok),
			o.stopped(s.client, s.began, mine.to), o.crashed(s.client, s.began, mine.to), o.stalled(s.began-o.slack, by+o.slack), skewed:
			continue
		}
		at = append(at, by)
		f.found = append(f.found, violation{s.key, by, max(by, mine.to)})
	}
	f.untested = len(at) == 0
	f.rows = o.need(at)
	return f
}
