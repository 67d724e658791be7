package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// explainShort explains that a lease was valid while fewer than a quorum of masters stored its
// token: when each master lost the key, and why.
func (r *run) explainShort(v *Violation, s short, q int) {
	l, g := s.lease, s.grant
	v.Summary = fmt.Sprintf("%s's lease on %s was valid until %s, but from %s on fewer than %d masters stored its token", l.Process, v.Key, at(g.Until), at(s.from), q)
	n := r.narrate(v)
	n.lease(l, g.At)
	var kept []string
	group(r.masterNames(), func(m string) cause {
		end, ok := s.end[m]
		switch {
		case !ok:
		case s.gone[m]:
			return cause{name: fmt.Sprint("gone ", m), explain: func(ms []string) {
				n.vanished(m, s, end)
			}}
		case end < g.Until:
			return cause{name: "expired at " + at(end), explain: func(ms []string) {
				ttl := r.h.Header.TTL
				n.lost(ms, l, Event{At: end, Cause: CauseExpired, Word: "expired",
					Text: fmt.Sprintf("the key of %s expired on %s: the last yes to it came by %s, and its TTL was %s", l.Process, Enumerate(ms), at(end-ttl), at(ttl))}, "")
			}}
		default:
			kept = append(kept, m)
		}
		return cause{}
	})
	rest := "no master stored the token"
	if len(kept) > 0 {
		rest = "only " + Enumerate(kept) + " can have stored the token"
	}
	n.violated(fmt.Sprintf("from %s to %s %s, fewer than a quorum of %d, and %s's lease was valid until %s",
		at(s.from), at(max(s.until, s.from)), rest, q, l.Process, at(g.Until)))
}

// vanished adds that a snapshot of a master lacked a key before the key's TTL was over, and why.
func (n *narrative) vanished(m string, s short, when time.Duration) {
	l := s.lease
	t := n.r.commandLogs()
	snapshot := t.missed(place{m, l.Key}, l.Token, l.Invoked, when+1)
	if snapshot != nil && snapshot.Time == when {
		n.add(Event{At: when, Kind: EventSnapshot, Masters: []string{m}, Client: l.Process, Key: l.Key, Word: "gone", Ops: []int{snapshot.Index},
			Text: fmt.Sprintf("%s did not store the key of %s any more", m, l.Process)})
	}
	x := t.byID(logID{place{m, l.Key}, party{l.Process, l.Token}})
	if x == nil {
		return
	}
	var yes *history.Vote
	for _, vs := range []votes{x.sets, x.extends} {
		for v := range vs.all() {
			if v.Yes && v.At <= when && (yes == nil || v.At > yes.At) {
				yes = &v
			}
		}
	}
	if yes == nil {
		return
	}
	next := *yes // the next event is the snapshot without the key
	next.Index, next.At, next.Took, next.Token, next.Client = noLine, when, 0, "", "no one"
	if snapshot != nil {
		next.Index = snapshot.Index
	}
	if c := n.lostKey(m, l, *yes, next); c.explain != nil {
		c.explain([]string{m})
	}
}
