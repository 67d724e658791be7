package facts

import (
	"slices"
	"time"

	"lockpick/history"
)

// Wait is a time in which some client that could reach a quorum of masters tried to acquire
// a key all the time, no live client held it, and no client was granted it (of a multi-lock: nor any other key).
type Wait struct {
	Key      string
	From, To time.Duration
	Granted  *history.Lease // the lease that ended it; nil if it ended otherwise
}

// Waits returns all waits.
func (r *Run) Waits() []Wait {
	return r.waits.get(func() []Wait { return r.WaitsExcept(nil) })
}

// WaitsExcept finds, for each key, the times in which clients tried to acquire it and none was granted it
// although one could have been. It leaves out the spans in but.
func (r *Run) WaitsExcept(but []history.Span) []Wait {
	type asker struct{ key, client string }
	if r.Quorum() == 0 {
		return nil // without a quorum, it is unknown which clients could reach enough masters
	}
	asking := map[asker][]history.Span{}
	var askers []asker
	for _, a := range r.Acquires() {
		id := asker{a.Key, a.Client}
		if asking[id] == nil {
			askers = append(askers, id)
		}
		asking[id] = append(asking[id], history.Span{From: a.Invoked, To: min(a.Ended, r.Interrupted.At)})
	}
	waiting := map[string][]history.Span{}
	var keys []string
	for _, id := range askers {
		if !slices.Contains(keys, id.key) {
			keys = append(keys, id.key)
		}
		can := Without(Union(asking[id], history.AskingGap), append(slices.Clone(r.ReachOf(id.client).weak), r.PausesOf(id.client)...))
		waiting[id.key] = append(waiting[id.key], can...)
	}
	slices.Sort(keys)
	byKey := map[string][]*history.Lease{}
	for _, l := range r.Leases {
		if !ExpiredOnArrival(l) {
			on := r.Lock.waitsFor(l.Key)
			byKey[on] = append(byKey[on], l)
		}
	}
	stopped := map[string][]history.Span{}
	stops := func(client string) []history.Span {
		all, known := stopped[client]
		if !known {
			all = Union(r.PausesOf(client), 0)
			stopped[client] = all
		}
		return all
	}
	var all []Wait
	for _, key := range keys {
		taken := slices.Clone(but)
		mine := byKey[r.Lock.waitsFor(key)]
		for _, l := range mine {
			taken = append(taken, Cut(l.Holds(), stops(l.Process))...)
		}
		for _, s := range Without(Union(waiting[key], 0), taken) {
			next, _ := slices.BinarySearchFunc(mine, s.From+1, acquiredBefore)
			for ; next < len(mine) && mine[next].Acquired() < s.To; next++ { // a grant ends the wait, even if its lease was short or its client stood still
				if at := mine[next].Acquired(); at > s.From {
					all = append(all, Wait{Key: key, From: s.From, To: at, Granted: mine[next]})
					s.From = at
				}
			}
			d := Wait{Key: key, From: s.From, To: s.To}
			if i, ended := slices.BinarySearchFunc(mine, s.To, acquiredBefore); ended {
				d.Granted = mine[i]
			}
			all = append(all, d)
		}
	}
	return all
}

// LostHolder reports whether the last holder of a key before a wait was lost, and whether it stood still and so may
// continue later.
func (r *Run) LostHolder(d Wait) (lost, stopped bool) {
	l := r.LastLease(d.Key, d.From)
	if l == nil {
		return false, false
	}
	if l.ReleaseIndex >= 0 && r.History.Op(l.ReleaseIndex).F == history.FCrash {
		return true, false
	}
	for _, p := range r.Pauses[l.Process] {
		if p.From >= l.Acquired() && p.From <= d.From && p.To > d.From && (l.ReleaseIndex < 0 || l.Released >= p.From) {
			return true, true
		}
	}
	return false, false
}
