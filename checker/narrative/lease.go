package narrative

import (
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/history/fault"
)

// Lease adds a lease as its client knew it: the votes, the grant, and the last extension up to a
// time. It adds the client's operations under the lease as details.
func (n *Narrative) Lease(l *history.Lease, until time.Duration) {
	r := n.r
	for _, a := range r.GrantingRequests(l) {
		n.Request(a, true)
	}
	g := l.Grants[0]
	votes := r.GrantingVotes(l)
	voters := facts.MastersOf(votes)
	e := Event{At: g.At, Kind: EventGranted, Client: l.Process, Key: l.Key, Token: l.Token, Yes: voters, Until: g.Until, Fence: l.Fence, Word: "granted", Ops: []int{g.Index}}
	fence := ""
	if l.Fence != 0 {
		fence = fmt.Sprintf(" with the fencing token %d", l.Fence)
	}
	valid := "valid until " + At(g.Until)
	if r.History.Header.Until == history.UntilReleased || g.Endless() {
		valid = "valid until it is released"
	}
	e.Text = fmt.Sprintf("%s was granted %s%s, %s, %s", l.Process, n.LeaseOn(l), fence, valid, n.votedBy(voters, r.VoteIndex().Recorded(l, history.CommandSet), g.Index))
	if g.Until <= g.At {
		e.Text = fmt.Sprintf("%s was granted %s%s, whose validity had ended at %s, %s", l.Process, n.LeaseOn(l), fence, At(g.Until), n.votedBy(voters, r.VoteIndex().Recorded(l, history.CommandSet), g.Index))
	}
	n.addResting(e, votes)
	n.shortTTL(l, g, history.CommandSet, 0)
	n.extensions(l, until)
	n.clientClock(l, until)
	n.life(l)
}

// extensions adds the last extension of a lease up to a time, the one before it as a detail, and
// the changes of its client's clock.
func (n *Narrative) extensions(l *history.Lease, until time.Duration) {
	for _, c := range l.Changes {
		if c.At <= until && c.Mode == history.ModeRead {
			n.Note(c.At, fmt.Sprintf("%s asked for a downgrade of its lease on %s: from then on it is a reader", l.Process, l.Key))
		}
	}
	shown := 0
	for i := len(l.Grants) - 1; i > 0; i-- {
		x := l.Grants[i]
		if x.At > until {
			continue
		}
		if x.Skewed {
			n.Add(Event{At: x.At, Kind: EventSkewed, Client: l.Process, Key: l.Key, Token: l.Token, Until: x.Until, Word: "clock", Ops: []int{x.Index},
				Text: fmt.Sprintf("%s's clock was changed: its lease was valid until %s then", l.Process, At(x.Until))})
			continue
		}
		if shown == 2 && !upgrades(l, x) {
			continue
		}
		before := l.Grants[i-1]
		n.extensionVotes(l, before, x, shown > 0 && !upgrades(l, x))
		if shown == 0 {
			n.shortTTL(l, x, history.CommandExtend, before.At)
		}
		shown++
	}
}

// upgrades reports whether a grant made the client of a lease a writer.
func upgrades(l *history.Lease, x history.Grant) bool {
	return slices.ContainsFunc(l.Changes, func(c history.ModeChange) bool { return c.Index == x.Index && c.Mode == history.ModeWrite })
}

// extensionVotes adds an extension of a lease after the grant before, with its requests as details.
func (n *Narrative) extensionVotes(l *history.Lease, before, x history.Grant, detail bool) {
	e := n.r.VoteIndex()
	votes := e.Granting(l, history.CommandExtend, before.At, x.At, n.r.Slack, n.r.Quorum())
	i := slices.IndexFunc(l.Grants, func(g history.Grant) bool { return g.Index == x.Index })
	if b, known := n.r.BackingOf(l, i); known && b.Sharing == 1 { // an answer that the extension before it had does not count again
		votes = slices.DeleteFunc(votes, func(v history.Vote) bool { return !slices.Contains(b.Yes, v.Master) })
	}
	voters := facts.MastersOf(votes)
	word := "extended"
	if upgrades(l, x) {
		word = "upgraded"
	}
	n.addResting(Event{At: x.At, Kind: EventExtended, Detail: detail, Client: l.Process, Key: l.Key, Token: l.Token, Yes: voters, Until: x.Until, Word: word, Ops: []int{x.Index},
		Text: fmt.Sprintf("%s's lease was %s, valid until %s, %s", l.Process, word, At(x.Until), n.votedBy(voters, e.Recorded(l, history.CommandExtend), x.Index))}, votes)
	for _, a := range n.r.Requests(l.Key, facts.Party{Client: l.Process, Token: l.Token}) {
		if a.Command == history.CommandExtend && a.Sent >= before.At && a.Sent <= x.At {
			n.Request(a, true)
		}
	}
}

// shortTTL adds a note if masters were asked to keep a key for a shorter time than the grant
// promises.
func (n *Narrative) shortTTL(l *history.Lease, g history.Grant, command string, since time.Duration) {
	byTTL := map[time.Duration][]string{}
	var ttls []time.Duration
	var ops []int
	for v := range n.r.VoteIndex().OnLease(l) {
		if !v.Yes || v.Command != command || v.TTL <= 0 || v.At < since || facts.Sent(v) > g.At || v.At+v.TTL >= g.Until {
			continue
		}
		if v.TTL >= n.r.History.Header.TTL {
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
		n.Note(g.At, fmt.Sprintf("the %s asked %s to keep the key for %s, not for the lock's TTL of %s: it expires before the lease ends at %s",
			what, fault.Enumerate(facts.Distinct(byTTL[ttl])), At(ttl), At(n.r.History.Header.TTL), At(g.Until)))
	}
}

// life adds, as details, the operations of a client under a lease.
func (n *Narrative) life(l *history.Lease) {
	who := l.Process
	inside := n.scope.Sections && l.EnterIndex >= 0
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
		n.AddAt(beforeLines, e)
	}
	if l.ReleaseIndex >= 0 && n.r.History.Op(l.ReleaseIndex).F == history.FRelease {
		text := fmt.Sprintf("%s released %s", who, l.Key)
		if n.r.Imported() {
			text += ", " + n.votedBy(nil, facts.NotRecorded, l.ReleaseIndex)
		}
		n.Add(Event{At: l.Released, Kind: EventReleased, Detail: !n.r.Imported(), Client: who, Key: l.Key, Token: l.Token, Word: "release", Ops: []int{l.ReleaseIndex}, Text: text})
	}
	began := n.r.RequestedAt(l)
	for _, a := range n.r.Requests(l.Key, facts.Party{Client: who, Token: l.Token}) {
		if a.Command == history.CommandRelease && a.Sent < n.Violation.Until && a.Sent >= began {
			n.Request(a, true)
		}
	}
	if inside {
		n.Add(Event{At: l.Entered, Kind: EventEntered, Detail: true, Client: who, Key: l.Key, Token: l.Token, Word: "enter", Ops: []int{l.EnterIndex},
			Text: fmt.Sprintf("%s entered its critical section on %s", who, l.Key)})
		if l.LeaveIndex >= 0 {
			n.Add(Event{At: l.Left, Kind: EventLeft, Detail: true, Client: who, Key: l.Key, Token: l.Token, Word: "leave", Ops: []int{l.LeaveIndex},
				Text: fmt.Sprintf("%s left its critical section", who)})
		}
	}
	n.storage(l)
	n.ClientFaults(who, l.Invoked, n.Violation.Until, true)
}

// votedBy names the masters whose votes a grant rests on, or, in a history made from logs, the log
// line of the grant.
func (n *Narrative) votedBy(voters []string, recorded facts.Record, index int) string {
	r := n.r
	if r.Imported() {
		return "according to " + r.History.Op(index).Value.Evidence
	}
	if store := r.History.Header.Service; store != "" {
		return "by " + store
	}
	if r.Unfiltered != nil {
		return "by keys of which the votes say nothing"
	}
	switch {
	case recorded == facts.NotRecorded:
		return "by votes that were not recorded"
	case recorded == facts.PartlyRecorded && len(voters) < r.Quorum():
		return "by votes of which not all are known"
	case len(voters) == 0:
		return "without a single vote"
	}
	s := "by the votes of " + fault.Enumerate(voters)
	if q := r.Quorum(); q > 0 && len(voters) < q {
		s += fmt.Sprintf(", fewer than the %d that a quorum needs", q)
	}
	return s
}

// Extension adds an extension of a lease: the validity before it, when it was called, what
// delayed it, and by whose votes it was granted.
func (n *Narrative) Extension(l *history.Lease, before, grant history.Grant) {
	r := n.r
	n.Lease(l, before.At)
	if before.Until < grant.At {
		n.AddAt(beforeLines, Event{At: before.Until, Kind: EventEnded, Client: l.Process, Key: l.Key, Token: l.Token, Word: "ended", Text: fmt.Sprintf("%s's lease ended", l.Process)})
	}
	if line, ok := r.CallOf(grant.Index); ok {
		n.Add(Event{At: r.History.Op(line).Time, Kind: EventCalled, Client: l.Process, Key: l.Key, Token: l.Token, Command: history.FExtend, Until: grant.At, Word: "extend", Ops: []int{line},
			Text: fmt.Sprintf("%s called extend", l.Process)})
	}
	for _, p := range r.Pauses[l.Process] {
		if p.From < grant.At && p.To > before.At {
			n.Paused(l.Process, p, false)
		}
	}
	n.slow(l, before.At, grant.At)
	n.extensionVotes(l, before, grant, false)
	n.shortTTL(l, grant, history.CommandExtend, before.At)
}

// Part says what a lease has of a lock that several clients may hold: "for reading", "2 of the 3 permits", or "". share is
// that in percent; a reader counts as half.
func Part(h *history.Header, l *history.Lease) (part string, share int) {
	x := facts.LockOf(h)
	switch {
	case x.Kind == history.ReadWrite && x.WeightOf(l) < x.Capacity:
		return "for reading", 50
	case x.Kind == history.ReadWrite:
		return "for writing", 100
	case x.Kind == history.Semaphore:
		return Permits(x, x.WeightOf(l)), int(100 * x.WeightOf(l) / x.Capacity)
	}
	return "", 100
}

// LeaseOn names a key and what a lease has of it: "k0", "k0 for reading", "2 of the 3 permits of k0", "k0 together with k1".
func (n *Narrative) LeaseOn(l *history.Lease) string {
	r := n.r
	part, _ := Part(&r.History.Header, l)
	switch {
	case r.Lock.Kind == history.Multi:
		var others []string
		for _, x := range r.Leases {
			if x.Process == l.Process && x.Token == l.Token && x.Key != l.Key {
				others = append(others, x.Key)
			}
		}
		if len(others) > 0 {
			return l.Key + " together with " + fault.Enumerate(facts.Distinct(others))
		}
		return l.Key
	case part == "":
		return l.Key
	case r.Lock.Kind == history.Semaphore:
		return part + " of " + l.Key
	}
	return l.Key + " " + part
}

// Permits is a number of permits, of all that there are.
func Permits(x facts.Lock, n int64) string {
	switch {
	case n > x.Capacity:
		return fmt.Sprintf("%d of %d permits", n, x.Capacity)
	case x.Capacity == 1:
		return "the only permit"
	case n == x.Capacity:
		return fmt.Sprintf("all %d permits", n)
	}
	return fmt.Sprintf("%d of the %d permits", n, x.Capacity)
}

// owner describes a token by the client that used it.
func (n *Narrative) owner(key, token string) string {
	r := n.r
	for _, l := range r.Leases {
		if l.Key == key && l.Token == token {
			return "the token of " + l.Process
		}
	}
	if x := r.CommandLogs().First(key, token); x != nil {
		return "a token of " + x.Party.Client + " that was not granted"
	}
	return "a token that no recorded client used"
}
