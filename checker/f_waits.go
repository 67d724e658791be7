package checker

import (
	"slices"
	"time"

	"lockpick/history"
)

// starvation is a time in which some client that could reach a quorum of masters tried to acquire
// a key all the time, no live client held it, and no client was granted it.
type starvation struct {
	key      string
	from, to time.Duration
	granted  *history.Lease // the lease that ended it; nil if it ended otherwise
}

// starvations returns all waits.
func (r *run) starvations() []starvation {
	return r.starving.get(func() []starvation { return r.waits(nil) })
}

// waits finds, for each key, the times in which clients tried to acquire it and none was granted it
// although one could have been. It leaves out the spans in but.
func (r *run) waits(but []history.Span) []starvation {
	type asker struct{ key, client string }
	if r.quorum() == 0 {
		return nil // without a quorum, it is unknown which clients could reach enough masters
	}
	asking := map[asker][]history.Span{}
	var askers []asker
	for _, a := range r.attempts() {
		id := asker{a.key, a.client}
		if asking[id] == nil {
			askers = append(askers, id)
		}
		asking[id] = append(asking[id], history.Span{From: a.invoked, To: min(a.ended, r.interrupted.at)})
	}
	waiting := map[string][]history.Span{}
	var keys []string
	for _, id := range askers {
		if !slices.Contains(keys, id.key) {
			keys = append(keys, id.key)
		}
		can := without(union(asking[id], askingGap), append(slices.Clone(r.reaches(id.client).weak), r.stops(id.client)...))
		waiting[id.key] = append(waiting[id.key], can...)
	}
	slices.Sort(keys)
	byKey := map[string][]*history.Lease{}
	for _, l := range r.leases {
		if !deadOnArrival(l) {
			byKey[l.Key] = append(byKey[l.Key], l)
		}
	}
	stopped := map[string][]history.Span{}
	stops := func(client string) []history.Span {
		all, known := stopped[client]
		if !known {
			all = union(r.stops(client), 0)
			stopped[client] = all
		}
		return all
	}
	var all []starvation
	for _, key := range keys {
		taken := slices.Clone(but)
		for _, l := range byKey[key] {
			taken = append(taken, cut(l.Holds(), stops(l.Process))...)
		}
		mine := byKey[key]
		for _, s := range without(union(waiting[key], 0), taken) {
			next, _ := slices.BinarySearchFunc(mine, s.From+1, acquiredBefore)
			for ; next < len(mine) && mine[next].Acquired() < s.To; next++ { // a grant ends the wait, even if its lease was short or its client stood still
				if at := mine[next].Acquired(); at > s.From {
					all = append(all, starvation{key: key, from: s.From, to: at, granted: mine[next]})
					s.From = at
				}
			}
			d := starvation{key: key, from: s.From, to: s.To}
			if i, ended := slices.BinarySearchFunc(mine, s.To, acquiredBefore); ended {
				d.granted = mine[i]
			}
			all = append(all, d)
		}
	}
	return all
}

// stoodStill is lostHolder's answer for a holder that may continue later.
const stoodStill = "was stopped"

// lostHolder returns how and when the last holder of a key before a wait was lost; how is "" if it
// was not.
func (r *run) lostHolder(d starvation) (how string, when time.Duration) {
	l := r.last(d.key, d.from)
	if l == nil {
		return "", 0
	}
	if l.ReleaseIndex >= 0 && r.h.Op(l.ReleaseIndex).F == history.FCrash {
		return "ended", l.Released
	}
	for _, p := range r.pauses[l.Process] {
		if p.from >= l.Acquired() && p.from <= d.from && p.to > d.from && (l.ReleaseIndex < 0 || l.Released >= p.from) {
			return stoodStill, p.from
		}
	}
	return "", 0
}
