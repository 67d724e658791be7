package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// cause is the reason why a master that had voted for one lease could vote for another.
type cause struct {
	name    string                 // masters whose causes have one name share its events
	explain func(masters []string) // adds the events to the narrative
}

// group finds the cause of each master and calls explain once for all masters whose causes have one
// name.
func group(masters []string, of func(master string) cause) {
	var order []cause
	sharing := map[string][]string{}
	for _, m := range masters {
		c := of(m)
		if c.explain == nil {
			continue
		}
		if sharing[c.name] == nil {
			order = append(order, c)
		}
		sharing[c.name] = append(sharing[c.name], m)
	}
	for _, c := range order {
		c.explain(sharing[c.name])
	}
}

// lostQuorum explains why lease b was granted while a was held, or a while b was held: two quorums
// have a master in common, and each such master must have lost the key of one lease before it
// voted for the other.
func (n *narrative) lostQuorum(a, b *history.Lease, when time.Duration) {
	e := n.r.lookup()
	if !e.voted(a) || !e.voted(b) {
		return // the events of the grants already say that their votes were not recorded
	}
	second := map[string]history.Vote{} // by master: the answer yes to b
	for i, g := range b.Grants {
		switch {
		case g.At != when:
		case i == 0:
			for _, v := range e.yes(b, history.CommandSet, b.Invoked, g.At, n.r.slack, n.r.quorum()) {
				second[v.Master] = v
			}
		default:
			for _, v := range e.yes(b, history.CommandExtend, b.Grants[i-1].At, g.At, n.r.slack, n.r.quorum()) {
				second[v.Master] = v
			}
		}
	}
	type pair struct {
		loser     *history.Lease
		yes, next history.Vote
	}
	both := map[string]pair{}
	var names []string
	for v := range e.of(a) {
		later, voted := second[v.Master]
		if !voted || !keeps(v) || v.At > when && v.At-v.Took > when {
			continue
		}
		_, known := both[v.Master]
		switch {
		case v.Index < later.Index: // the last yes to a before the yes to b
			both[v.Master] = pair{a, v, later}
		case !known: // the master stored b's key first
			both[v.Master] = pair{b, later, v}
		}
		if !known {
			names = append(names, v.Master)
		}
	}
	names = set(names)
	if len(names) == 0 {
		var ms []string
		for m := range second {
			ms = append(ms, m)
		}
		n.note(when, fmt.Sprintf("no master voted for both: %s for %s, %s for %s", Enumerate(n.r.voters(a)), a.Process, Enumerate(set(ms)), other(b.Process, a.Process)))
		return
	}
	group(names, func(m string) cause {
		p := both[m]
		return n.lostKey(m, p.loser, p.yes, p.next)
	})
}

// keeps reports whether a vote shows that its master stored the key for its token.
func keeps(v history.Vote) bool {
	return v.Yes && (v.Command == history.CommandSet || v.Command == history.CommandExtend)
}

// lostKey finds why master m, after its yes to a lease, could say yes to the next SET or
// extension of another token. If other clients' keys were stored in between, it explains each loss
// in turn, and the narrative names these clients.
func (n *narrative) lostKey(m string, a *history.Lease, yes, next history.Vote) cause {
	if between := n.between(m, a, yes, next); len(between) > 0 {
		first := between[0]
		c := n.lossBefore(m, a, yes, first)
		explain := c.explain
		c.name += " before " + first.Token
		c.explain = func(ms []string) {
			if explain != nil {
				explain(ms)
			}
			aside := n.aside
			n.aside = true
			defer func() { n.aside = aside }()
			for i, v := range between {
				n.tenant(v)
				after := next
				switch {
				case i+1 < len(between):
					after = between[i+1]
				case next.Token == "": // next is a snapshot, which need not show that this client lost the key
					return
				}
				if x := n.lossBefore(m, n.leaseOfVote(v), v, after); x.explain != nil {
					x.explain([]string{m})
				}
			}
		}
		return c
	}
	return n.lossBefore(m, a, yes, next)
}

// noLine is the index of an event that no line shows: it comes after all lines.
const noLine = 1 << 30

// maxBetween is the maximum number of clients with keys in between that a narrative names.
const maxBetween = 3

// between returns a master's yes answers to the SETs of other clients after one yes and before
// the next: the first of them, and the last maxBetween-1.
func (n *narrative) between(m string, a *history.Lease, yes, next history.Vote) []history.Vote {
	var found []history.Vote
	last := time.Duration(1 << 61)
	if next.Index < noLine {
		last = next.At + n.r.h.LongestDelay() // votes that arrived after last have lines after next's
	}
	for v := range n.r.commandLogs().yes[place{m, a.Key}].asked(yes.At, last) {
		if v.Index > yes.Index && v.Index < next.Index && v.Token != a.Token && v.Token != next.Token && sent(v) >= yes.At {
			found = append(found, v)
		}
	}
	if len(found) > maxBetween {
		found = append(found[:1:1], found[len(found)-maxBetween+1:]...)
	}
	return found
}

// leaseOfVote returns the lease that a vote belongs to, or, if the client was not granted one, a lease
// that stands for the client's key on the master.
func (n *narrative) leaseOfVote(v history.Vote) *history.Lease {
	for _, l := range n.r.leases {
		if l.Key == v.Key && l.Token == v.Token && l.Process == v.Client {
			return l
		}
	}
	return &history.Lease{Key: v.Key, Process: v.Client, Token: v.Token, LostIndex: -1, ReleaseIndex: -1, EnterIndex: -1, LeaveIndex: -1, Grants: []history.Grant{{Index: v.Index, At: v.At}}}
}

// tenant adds the request by which another client's key was stored in between.
func (n *narrative) tenant(v history.Vote) {
	if x := n.r.requestOf(v); x != nil {
		n.request(x, true)
	}
}

// lossBefore finds why a master that had stored a lease's key no longer stored it when it said
// yes to next. It tries the causes from the most certain to the least certain.
func (n *narrative) lossBefore(m string, a *history.Lease, yes, next history.Vote) cause {
	for _, find := range []func(string, *history.Lease, history.Vote, history.Vote) (cause, bool){
		n.releasedOwn, n.expired, n.shortened, n.restarted, n.disturbed, n.deleted, n.unanswered, n.mayHaveExpired, n.restartedMeanwhile,
	} {
		if c, ok := find(m, a, yes, next); ok {
			return c
		}
	}
	return cause{name: fmt.Sprint("unexplained ", next.Token, " ", a.Token), explain: func(ms []string) {
		if n.r.law.kind != history.Mutex { // it may have said yes to both without losing anything
			return
		}
		text := fmt.Sprintf("no recorded event explains why %s lost the key of %s: %s said yes to it by %s and to %s by %s", Enumerate(ms), a.Process,
			theyOrIt(ms), at(yes.At), other(next.Client, a.Process), at(next.At))
		if also := n.alsoReleased(m, a, yes, next); also != "" {
			text += "; " + also
		}
		n.unexplained(Event{At: next.At, Masters: ms, Client: a.Process, Key: a.Key, Token: a.Token, Text: text})
	}}
}

func theyOrIt(masters []string) string {
	if len(masters) > 1 {
		return "they"
	}
	return "it"
}

// lost adds that masters no longer stored a lease's key. says is what the text says of them after their names; empty: the
// event has a text of another form.
func (n *narrative) lost(masters []string, a *history.Lease, e Event, says string) {
	e.Kind, e.Masters, e.Client, e.Key, e.Token = EventLost, masters, a.Process, a.Key, a.Token
	if says != "" {
		e.Text = Enumerate(masters) + " " + says
	}
	if e.Word == "" {
		e.Word = "lost"
	}
	if len(e.Ops) > 0 {
		n.addSaying(e, says)
		return
	}
	n.addAtSaying(beforeLines, e, says)
}

// within reports whether a release may have been executed after the master's yes to a lease and
// before its yes to the next.
func within(v, yes, next history.Vote) bool {
	return v.Index != yes.Index && v.At >= sent(yes) && sent(v) <= next.At
}

// mayDelete reports whether a release may have deleted the key of a vote: it released the same
// lock, or another lock whose Redis key is the same.
func mayDelete(v, yes history.Vote) bool { return v.Key == yes.Key || v.Stored == yes.Stored }

// lastRelease returns the last release that a master executed between its yes to a lease and its
// yes to the next, and for which is returns true.
func (n *narrative) lastRelease(m string, yes, next history.Vote, is func(*history.Vote) bool) (last history.Vote, found bool) {
	for v := range n.r.replies(history.CommandRelease, m).asked(yes.At, next.At) {
		if v.Yes && within(v, yes, next) && is(&v) {
			last, found = v, true
		}
	}
	return last, found
}

// by returns the latest time at which a master that said yes to a lease and then to next can have
// lost the lease's key. It dates a loss whose time no event shows.
func (n *narrative) by(yes, next history.Vote) time.Duration {
	executed, _ := n.r.executed(yes)
	return max(executed, sent(next))
}

// releasedOwn looks for a release of the lease's own token that the master executed, including
// one that was sent earlier, for an earlier attempt with the same token.
func (n *narrative) releasedOwn(m string, a *history.Lease, yes, next history.Vote) (cause, bool) {
	v, found := n.lastRelease(m, yes, next, func(v *history.Vote) bool { return mayDelete(*v, yes) && v.Token == a.Token })
	if !found {
		return cause{}, false
	}
	return n.byRelease(v, a, yes, next, CauseReleased), true
}

// deleted looks for a release of another token, which should not have touched the key.
func (n *narrative) deleted(m string, a *history.Lease, yes, next history.Vote) (cause, bool) {
	v, found := n.lastRelease(m, yes, next, func(v *history.Vote) bool { return mayDelete(*v, yes) && v.Token != a.Token })
	if !found {
		return cause{}, false
	}
	return n.byRelease(v, a, yes, next, CauseDeleted), true
}

// releasesOf returns the releases of a token on a master that may have deleted the key of a vote.
func (n *narrative) releasesOf(token, m string, yes history.Vote) []history.Vote {
	var found []history.Vote
	vs := n.r.lookup().token(token)
	for i := range vs.ids {
		if k := vs.kind(i); k.Command == history.CommandRelease && k.Master == m && (k.Key == yes.Key || k.Stored == yes.Stored) {
			found = append(found, vs.at(i))
		}
	}
	return found
}

// unanswered looks for a release of the lease's own token that got no answer: the master may have
// executed it at any later time.
func (n *narrative) unanswered(m string, a *history.Lease, yes, next history.Vote) (cause, bool) {
	for _, v := range slices.Backward(n.releasesOf(a.Token, m, yes)) {
		if v.Unknown && sent(v) <= next.At {
			return n.byRelease(v, a, yes, next, CauseUnanswered), true
		}
	}
	return cause{}, false
}

// byRelease returns the cause that a release deleted a key, or may have deleted it.
func (n *narrative) byRelease(v history.Vote, a *history.Lease, yes, next history.Vote, why string) cause {
	delayed := sent(v) < yes.At
	return cause{name: fmt.Sprint(why, " ", v.Token, " ", v.Key, " ", sent(v).Round(time.Millisecond)), explain: func(ms []string) {
		if x := n.r.requestOf(v); x != nil {
			n.request(x, !delayed && why != CauseUnanswered)
		}
		e := Event{Cause: why, Ops: []int{v.Index}, Word: "deleted"}
		e.At, _ = n.r.executed(v)
		if e.At > next.At || why == CauseUnanswered { // the master executed it before next
			e.At, e.Ops = n.by(yes, next), nil
		}
		whose, details := fmt.Sprintf("a release of %s's own token", a.Process), ""
		switch {
		case (why == CauseReleased || why == CauseUnanswered) && v.Client != "" && v.Client != a.Process:
			whose += " by " + v.Client
			details = ", which had the same token"
		case why == CauseReleased || why == CauseUnanswered:
		case v.Key != a.Key:
			whose = fmt.Sprintf("a release of %s by %s", v.Key, v.Client)
			details = ", whose key on the masters is the same"
		default:
			whose = "a release of another token by " + v.Client
		}
		if delayed {
			details += fmt.Sprintf(", which had been sent at %s, before %s said yes to this lease's SET", at(sent(v)), theyOrIt(ms))
		}
		if details != "" {
			details += ","
		}
		says := fmt.Sprintf("executed %s%s and deleted the key", whose, details)
		if why == CauseUnanswered {
			says = fmt.Sprintf("may have executed %s late and deleted the key: it was sent at %s and never answered", whose, at(sent(v)))
		} else if e.Ops != nil {
			for _, m := range ms {
				for _, y := range n.releasesOf(v.Token, m, yes) {
					if y.Key == v.Key && y.Yes && (sent(y)-sent(v)).Abs() <= atOnce && !slices.Contains(e.Ops, y.Index) {
						e.Ops = append(e.Ops, y.Index)
					}
				}
			}
		}
		n.lost(ms, a, e, says)
	}}
}

// alsoReleased names the last release of another key that the master executed in between.
func (n *narrative) alsoReleased(m string, a *history.Lease, yes, next history.Vote) string {
	if v, found := n.lastRelease(m, yes, next, func(v *history.Vote) bool { return v.Key != a.Key }); found {
		return fmt.Sprintf("meanwhile %s executed a release of %s by %s", m, v.Key, v.Client)
	}
	return ""
}

func (n *narrative) expired(_ string, a *history.Lease, yes, next history.Vote) (cause, bool) {
	ttl := n.r.lifetime(yes)
	if ttl <= 0 || sent(next) < yes.At+ttl {
		return cause{}, false
	}
	return n.byExpiry(a, yes, next, ttl, CauseExpired), true
}

func (n *narrative) mayHaveExpired(_ string, a *history.Lease, yes, next history.Vote) (cause, bool) {
	ttl := n.r.lifetime(yes)
	if ttl <= 0 || next.At < sent(yes)+ttl {
		return cause{}, false
	}
	return n.byExpiry(a, yes, next, ttl, CauseMayExpired), true
}

func (n *narrative) byExpiry(a *history.Lease, yes, next history.Vote, ttl time.Duration, why string) cause {
	return cause{name: why + yes.Token, explain: func(ms []string) {
		how := "expired"
		if why == CauseMayExpired {
			how = "may have expired"
		}
		end := min(yes.At+ttl, max(sent(next), sent(yes)+ttl))
		n.lost(ms, a, Event{At: end, Cause: why, Word: "expired", Text: fmt.Sprintf("the key of %s %s on %s: the last yes to it came by %s, and its TTL was %s",
			a.Process, how, Enumerate(ms), at(yes.At), at(ttl))}, "")
	}}
}

// restarted looks for a restart of the master before next after which no record shows that it
// still stored the key.
func (n *narrative) restarted(m string, a *history.Lease, yes, next history.Vote) (cause, bool) {
	executed, _ := n.r.executed(next)
	return n.restartedBetween(m, a, sent(yes), executed)
}

// restartedMeanwhile looks for a restart after next was sent and before it was answered. The
// request may have reached the master only after it was up again: a link held it, or the client
// had to reconnect.
func (n *narrative) restartedMeanwhile(m string, a *history.Lease, yes, next history.Vote) (cause, bool) {
	executed, _ := n.r.executed(next)
	if !slices.ContainsFunc(n.r.statesOf(m, executed, next.At), func(s state) bool { return s.is == "up" }) {
		return cause{}, false
	}
	return n.restartedBetween(m, a, sent(yes), next.At)
}

func (n *narrative) restartedBetween(m string, a *history.Lease, from, to time.Duration) (cause, bool) {
	back := func(after time.Duration) (state, bool) {
		for _, s := range n.r.statesOf(m, after, to) {
			if s.is == "up" {
				return s, true
			}
		}
		return state{}, false
	}
	survived := func(s state, seen bool) bool {
		return seen && s.keys != nil && a.Token != "" && s.keys[a.Key] == a.Token
	}
	what := "key"
	if a.Token == "" {
		what = "counter"
	}
	// gone adds that masters no longer stored the key when they were up again.
	gone := func(ms []string, after time.Duration) {
		for _, m := range ms {
			for _, s := range n.r.statesOf(m, after, to) {
				if s.is == "up" {
					n.up(m, s, false)
					ms = slices.DeleteFunc(slices.Clone(ms), func(x string) bool { return x == m })
					break
				}
			}
		}
		if len(ms) > 0 {
			n.lost(ms, a, Event{At: to, Cause: CauseRestart}, fmt.Sprintf("had come back without the %s of %s", what, a.Key))
		}
	}
	for _, f := range slices.Backward(n.r.faultsWithin(from, to)) {
		if !ends(f.Name) || !f.Installed || !slices.Contains(f.Masters, m) {
			continue
		}
		struck, _ := n.r.strike(f, m)
		if struck <= from || struck >= to {
			continue
		}
		up, seen := back(struck)
		if survived(up, seen) {
			continue
		}
		return cause{name: fmt.Sprintf("fault %d", f.ID), explain: func(ms []string) {
			n.fault(f, false, ms)
			gone(ms, struck)
		}}, true
	}
	for _, s := range slices.Backward(n.r.statesOf(m, from, to)) {
		if s.is != "down" {
			continue
		}
		up, seen := back(s.at)
		if !seen || survived(up, seen) {
			continue
		}
		return cause{name: "down " + at(s.at), explain: func(ms []string) {
			n.add(Event{At: s.at, Kind: EventDown, Masters: ms, Word: "down", Ops: []int{s.line},
				Text: fmt.Sprintf("%s went down, %s, which no recorded fault explains", Enumerate(ms), fault.Persistence(n.r.h.Header.Persistence))})
			gone(ms, s.at)
		}}, true
	}
	return cause{}, false
}

// disturbed looks for faults of a master's clock or memory, which can expire or evict a key
// without a restart.
func (n *narrative) disturbed(m string, a *history.Lease, yes, next history.Vote) (cause, bool) {
	from, to := sent(yes), next.At
	for _, f := range slices.Backward(n.r.faultsWithin(from, to)) {
		if !f.Installed || !slices.Contains(f.Masters, m) || f.Began >= to || f.To <= from {
			continue
		}
		kind := fault.Of(f.Name)
		clock := kind.Clock == fault.MasterClock
		if !clock && !kind.Evicts {
			continue
		}
		return cause{name: fmt.Sprintf("fault %d", f.ID), explain: func(ms []string) {
			n.fault(f, false, ms)
			e := Event{At: max(f.From, n.by(yes, next)), Cause: CauseMemory, Fault: f.ID}
			says := fmt.Sprintf("no longer stored the key of %s: a full master may evict a key", a.Process)
			if clock {
				e.Cause, says = CauseClock, fmt.Sprintf("no longer stored the key of %s: by the master's clock, its TTL was over", a.Process)
				switch jump := f.Params["clock"]; {
				case strings.HasPrefix(jump, "+") && f.From > from:
					e.At, e.Ops = f.From, []int{f.Index}
				case strings.HasPrefix(jump, "-") && f.Healed && f.To < to:
					e.At, e.Ops = f.To, []int{f.HealIndex} // the clock was set forward to the right time
				}
			}
			n.lost(ms, a, e, says)
		}}, true
	}
	return cause{}, false
}
