package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// explainHolds explains that two leases were held at once.
func (r *run) explainHolds(v *Violation, o overlap) {
	got := fmt.Sprintf("%s was granted %s", other(o.later.client, o.earlier.client), r.what(o.later.lease))
	if o.later.from > o.later.lease.Acquired() {
		got = fmt.Sprintf("%s was granted an extension of its lease on %s", o.later.client, v.Key)
	}
	v.Summary = fmt.Sprintf("%s at %s while %s could still rely on it until %s", got, at(v.At), o.earlier.client, at(o.earlier.to))
	n := r.narrate(v)
	n.overlap(o)
	if !r.law.alone() {
		v.Summary = fmt.Sprintf("%s at %s while %s, until %s", got, at(v.At), r.law.heldBy(o), at(o.earlier.to))
		n.violated(fmt.Sprintf("for %s, from %s to %s, %s at once", at(o.to()-o.from()), at(o.from()), at(o.to()), r.law.together(o)))
		return
	}
	n.violated(fmt.Sprintf("for %s, from %s to %s, %s could both rely on %s",
		at(o.to()-o.from()), at(o.from()), at(o.to()), both(o.earlier.client, o.later.client), v.Key))
}

// both names two clients; if they are the same, it says "two leases of" that client.
func both(a, b string) string {
	if a == b {
		return "two leases of " + a
	}
	return a + " and " + b
}

// overlap adds why two leases were held at once: the earlier lease and the masters that voted for
// it, how these lost its key, and the masters whose votes granted the later lease.
func (n *narrative) overlap(o overlap) {
	a, b := o.earlier.lease, o.later.lease
	n.lease(a, o.to())
	if last := o.earlier.last; last != nil {
		n.lease(last, o.to())
	}
	for _, s := range o.named {
		if s != o.earlier && s.lease != nil {
			n.lease(s.lease, o.to())
		}
	}
	n.narrowed(a)
	n.lease(b, o.to())
	n.lostQuorum(a, b, o.later.from)
	n.changes(a, max(b.Acquired(), o.later.from))
	n.tried(b.Process)
}

// lease adds a lease as its client knew it: the votes, the grant, and the last extension up to a
// time. It adds the client's operations under the lease as details.
func (n *narrative) lease(l *history.Lease, until time.Duration) {
	r := n.r
	for _, a := range r.granting(l) {
		n.request(a, true)
	}
	g := l.Grants[0]
	votes := r.votesFor(l)
	voters := masters(votes)
	e := Event{At: g.At, Kind: EventGranted, Client: l.Process, Key: l.Key, Token: l.Token, Yes: voters, Until: g.Until, Fence: l.Fence, Word: "granted", Ops: []int{g.Index}}
	fence := ""
	if l.Fence != 0 {
		fence = fmt.Sprintf(" with the fencing token %d", l.Fence)
	}
	valid := "valid until " + at(g.Until)
	if r.h.Header.Until == history.UntilReleased || g.Endless() {
		valid = "valid until it is released"
	}
	e.Text = fmt.Sprintf("%s was granted %s%s, %s, %s", l.Process, r.what(l), fence, valid, r.by(voters, r.lookup().votedOn(l, history.CommandSet), g.Index))
	if g.Until <= g.At {
		e.Text = fmt.Sprintf("%s was granted %s%s, whose validity had ended at %s, %s", l.Process, r.what(l), fence, at(g.Until), r.by(voters, r.lookup().votedOn(l, history.CommandSet), g.Index))
	}
	n.addResting(e, votes)
	n.shortTTL(l, g, history.CommandSet, 0)
	n.extensions(l, until)
	n.clientClock(l, until)
	n.life(l)
}

// extensions adds the last extension of a lease up to a time, the one before it as a detail, and
// the changes of its client's clock.
func (n *narrative) extensions(l *history.Lease, until time.Duration) {
	told := 0
	for i := len(l.Grants) - 1; i > 0; i-- {
		x := l.Grants[i]
		if x.At > until {
			continue
		}
		if x.Bent {
			n.add(Event{At: x.At, Kind: EventBent, Client: l.Process, Key: l.Key, Token: l.Token, Until: x.Until, Word: "clock", Ops: []int{x.Index},
				Text: fmt.Sprintf("%s's clock was changed: its lease was valid until %s then", l.Process, at(x.Until))})
			continue
		}
		if told == 2 {
			continue
		}
		before := l.Grants[i-1]
		n.extension(l, before, x, told > 0)
		if told == 0 {
			n.shortTTL(l, x, history.CommandExtend, before.At)
		}
		told++
	}
}

// extension adds an extension of a lease after the grant before, with its requests as details.
func (n *narrative) extension(l *history.Lease, before, x history.Grant, detail bool) {
	e := n.r.lookup()
	votes := e.yes(l, history.CommandExtend, before.At, x.At, n.r.slack, n.r.quorum())
	i := slices.IndexFunc(l.Grants, func(g history.Grant) bool { return g.Index == x.Index })
	if b, known := n.r.backingOf(l, i); known && b.sharing == 1 { // an answer that the extension before it had does not count again
		votes = slices.DeleteFunc(votes, func(v history.Vote) bool { return !slices.Contains(b.yes, v.Master) })
	}
	voters := masters(votes)
	n.addResting(Event{At: x.At, Kind: EventExtended, Detail: detail, Client: l.Process, Key: l.Key, Token: l.Token, Yes: voters, Until: x.Until, Word: "extended", Ops: []int{x.Index},
		Text: fmt.Sprintf("%s's lease was extended, valid until %s, %s", l.Process, at(x.Until), n.r.by(voters, e.votedOn(l, history.CommandExtend), x.Index))}, votes)
	for _, a := range n.r.requests(l.Key, party{l.Process, l.Token}) {
		if a.command == history.CommandExtend && a.sent >= before.At && a.sent <= x.At {
			n.request(a, true)
		}
	}
}

// shortTTL adds a note if masters were asked to keep a key for a shorter time than the grant
// promises.
func (n *narrative) shortTTL(l *history.Lease, g history.Grant, command string, since time.Duration) {
	byTTL := map[time.Duration][]string{}
	var ttls []time.Duration
	var ops []int
	for v := range n.r.lookup().of(l) {
		if !v.Yes || v.Command != command || v.TTL <= 0 || v.At < since || sent(v) > g.At || v.At+v.TTL >= g.Until {
			continue
		}
		if v.TTL >= n.r.h.Header.TTL {
			continue // the TTL is right, and the grant promises too much
		}
		if byTTL[v.TTL] == nil {
			ttls = append(ttls, v.TTL)
		}
		byTTL[v.TTL] = append(byTTL[v.TTL], v.Master)
		ops = append(ops, v.Index)
	}
	for _, ttl := range ttls {
		what := "SET"
		if command == history.CommandExtend {
			what = "extension"
		}
		n.note(g.At, fmt.Sprintf("the %s asked %s to keep the key for %s, not for the lock's TTL of %s: it expires before the lease ends at %s",
			what, Enumerate(set(byTTL[ttl])), at(ttl), at(n.r.h.Header.TTL), at(g.Until)))
	}
}

// clientClock adds the faults of a client's clock: with a slow clock, its lease lasts longer than
// the masters keep the key. If the lease lasts no longer than that, the faults are details.
func (n *narrative) clientClock(l *history.Lease, until time.Duration) {
	longer := false
	for _, g := range l.Grants {
		if g.At > until {
			break
		}
		longer = longer || g.Bent
	}
	began := n.r.began(l)
	longer = longer || n.r.h.Header.TTL > 0 && l.Grants[0].Until > began+n.r.h.Header.TTL
	for _, f := range n.r.faults {
		if fault.Of(f.Name).Clock == fault.ClientClock && f.Installed && slices.Contains(f.Clients, l.Process) && f.Began <= until && f.To >= l.Invoked {
			n.fault(f, !longer, nil)
		}
	}
}

// life adds, as details, the operations of a client under a lease.
func (n *narrative) life(l *history.Lease) {
	who := l.Process
	inside := n.v.Level != MutualExclusion.Level && n.v.Level != FencingMonotone.Level && l.EnterIndex >= 0
	for i, hold := range l.Holds() {
		if hold.Empty() || l.ReleaseIndex >= 0 && l.Released == hold.To {
			continue
		}
		text := fmt.Sprintf("%s's lease ended", who)
		if i == len(l.Holds())-1 && inside && l.Left > hold.To {
			text += ", while it was in its critical section"
		}
		e := Event{At: hold.To, Kind: EventEnded, Detail: true, Client: who, Key: l.Key, Token: l.Token, Word: "ended", Text: text}
		if l.LostIndex >= 0 && l.Lost == hold.To {
			e.Detail, e.Word, e.Ops = false, "lost", []int{l.LostIndex}
			e.Text = fmt.Sprintf("%s's lock said that its lease was over", who)
		}
		n.addAt(beforeLines, e)
	}
	if l.ReleaseIndex >= 0 && n.r.h.Op(l.ReleaseIndex).F == history.FRelease {
		text := fmt.Sprintf("%s released %s", who, l.Key)
		if n.r.imported() {
			text += ", " + n.r.by(nil, false, l.ReleaseIndex)
		}
		n.add(Event{At: l.Released, Kind: EventReleased, Detail: !n.r.imported(), Client: who, Key: l.Key, Token: l.Token, Word: "release", Ops: []int{l.ReleaseIndex}, Text: text})
	}
	began := n.r.began(l)
	for _, a := range n.r.requests(l.Key, party{who, l.Token}) {
		if a.command == history.CommandRelease && a.sent < n.v.Until && a.sent >= began {
			n.request(a, true)
		}
	}
	if inside {
		n.add(Event{At: l.Entered, Kind: EventEntered, Detail: true, Client: who, Key: l.Key, Token: l.Token, Word: "enter", Ops: []int{l.EnterIndex},
			Text: fmt.Sprintf("%s entered its critical section on %s", who, l.Key)})
		if l.LeaveIndex >= 0 {
			n.add(Event{At: l.Left, Kind: EventLeft, Detail: true, Client: who, Key: l.Key, Token: l.Token, Word: "leave", Ops: []int{l.LeaveIndex},
				Text: fmt.Sprintf("%s left its critical section", who)})
		}
	}
	n.storage(l)
	n.clientFaults(who, l.Invoked, n.v.Until, true)
}

// clientFaults adds the pauses and crashes of a client between two times.
func (n *narrative) clientFaults(client string, from, to time.Duration, detail bool) {
	for _, p := range n.r.pauses[client] {
		if p.from < to && p.to > from {
			n.paused(client, p, detail)
		}
	}
	for _, i := range n.r.linesOf(client) {
		op := &n.r.h.Ops[i]
		if op.Time > to {
			break
		}
		if op.F == history.FCrash && op.Time >= from {
			point := ""
			if op.Value != nil {
				point = op.Value.Point
			}
			n.add(Event{At: op.Time, Kind: EventCrashed, Detail: detail, Client: client, Key: n.v.Key, Word: "crashed", Ops: []int{op.Index},
				Text: fmt.Sprintf("%s crashed%s, and released nothing", client, fault.AtPoint(point))})
		}
	}
}

// paused adds a client's pause and the fault that stopped the client.
func (n *narrative) paused(client string, p pause, detail bool) {
	name, by := "", ""
	for _, f := range n.r.faultsWithin(p.from, p.to) {
		if fault.Of(f.Name).Client == fault.ClientStops && f.Installed && f.Began < p.to && f.To > p.from && (len(f.Clients) == 0 || slices.Contains(f.Clients, client)) {
			name, by = fmt.Sprintf(" (client-pause #%d)", f.ID), f.Name
			if !detail {
				n.faults[f.ID] = true
			}
			break
		}
	}
	n.add(Event{At: p.from, Kind: EventPaused, Detail: detail, Client: client, Name: by, Word: "stopped", Until: p.to, Ops: []int{p.line},
		Text: fmt.Sprintf("%s was stopped%s%s", client, fault.AtPoint(p.point), name)})
	if p.ended {
		n.add(Event{At: p.to, Kind: EventResumed, Detail: detail, Client: client, Word: "goes on", Ops: []int{p.endLine}, Text: client + " went on"})
	}
}

// votesFor returns the votes by which a lease was granted.
func (r *run) votesFor(l *history.Lease) []history.Vote {
	return r.lookup().yes(l, history.CommandSet, l.Invoked, l.Acquired(), r.slack, r.quorum())
}

// voters returns the masters by whose votes a lease was granted.
func (r *run) voters(l *history.Lease) []string { return masters(r.votesFor(l)) }

// by names the masters whose votes a grant rests on, or, in a history made from logs, the log
// line of the grant.
func (r *run) by(voters []string, recorded bool, index int) string {
	if r.imported() {
		return "according to " + r.h.Op(index).Value.Evidence
	}
	if store := r.h.Header.Service; store != "" {
		return "by " + store
	}
	if r.seen != nil {
		return "by keys of which the votes say nothing"
	}
	if !recorded {
		return "by votes that were not recorded"
	}
	if len(voters) == 0 {
		return "without a single vote"
	}
	s := "by the votes of " + Enumerate(voters)
	if q := r.quorum(); q > 0 && len(voters) < q {
		s += fmt.Sprintf(", fewer than the %d that a quorum needs", q)
	}
	return s
}

// quorum returns how many votes a grant needs; 0 if the header does not say.
func (r *run) quorum() int {
	h := &r.h.Header
	switch {
	case h.Quorum > 0:
		return h.Quorum
	case h.Masters > 0:
		return h.Masters/2 + 1
	}
	return 0
}

// narrowed adds the faults that kept masters from voting for a lease: the fewer masters voted for
// it, the fewer of its keys must be lost before another client can get a quorum.
func (n *narrative) narrowed(l *history.Lease) {
	voters := n.r.voters(l)
	began := n.r.began(l)
	for _, f := range n.r.faultsWithin(began, l.Acquired()) {
		if !f.Installed || f.From > l.Acquired() || f.To < began || len(voters) == 0 {
			continue
		}
		if len(f.Clients) > 0 && !slices.Contains(f.Clients, l.Process) {
			continue
		}
		if !fault.Of(f.Name).WithholdsVotes() { // a fault of a clock or a disk keeps no master from voting
			continue
		}
		kept := slices.DeleteFunc(set(f.Masters), func(m string) bool { return slices.Contains(voters, m) })
		if len(kept) > 0 {
			n.fault(f, false, kept)
		}
	}
}

// leaseOverlap finds the overlap of two leases' holds, if there is one.
func (r *run) leaseOverlap(a, b *history.Lease) (overlap, bool) {
	if a == nil || b == nil {
		return overlap{}, false
	}
	both := holds([]*history.Lease{a, b}, r.law)
	if found := sweep(both, r.law); len(found) > 0 {
		return found[0], true
	}
	return overlap{}, false
}

// silentFaults adds, as details, the faults that kept masters from answering requests in the
// narrative.
func (n *narrative) silentFaults() {
	for _, e := range slices.Clone(n.events) {
		if e.Kind != EventAsked {
			continue
		}
		for _, v := range e.ask.votes {
			for _, f := range n.r.faultsWithin(sent(v), v.At) {
				if silences(f, v) {
					n.fault(f, true, nil)
				}
			}
		}
	}
}

// tried adds, as a detail, how many attempts of a client were refused before the violation.
func (n *narrative) tried(client string) {
	var first, last *asked
	count := 0
	for _, a := range n.r.attemptsBy(client, n.v.Key, n.from, n.v.At) {
		if a.sent < n.from || a.sent >= n.v.At || slices.Contains(n.v.Tokens, a.who.token) {
			continue
		}
		if count++; first == nil {
			first = a
		}
		last = a
	}
	if last == nil {
		return
	}
	text := fmt.Sprintf("%s asked for %s and was refused", client, n.v.Key)
	if count > 1 {
		text = fmt.Sprintf("%s had asked for %s %d times since %s and was refused each time", client, n.v.Key, count, at(first.sent))
	}
	n.addAt(afterLines, Event{At: last.sent, Kind: EventTried, Detail: true, Client: client, Key: n.v.Key, Count: count, Word: "refused", Text: text})
}
