package narrative

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/history/fault"
)

// Loss is the reason why a master that had voted for one lease could vote for another.
type Loss struct {
	Name    string                 // masters whose causes have one name share its events
	Explain func(masters []string) // adds the events to the narrative
}

// EachLoss finds the cause of each master and calls explain once for all masters whose causes have one
// name. It reports whether there is a cause.
func EachLoss(masters []string, of func(master string) Loss) bool {
	var order []Loss
	sharing := map[string][]string{}
	for _, m := range masters {
		c := of(m)
		if c.Explain == nil {
			continue
		}
		if sharing[c.Name] == nil {
			order = append(order, c)
		}
		sharing[c.Name] = append(sharing[c.Name], m)
	}
	for _, c := range order {
		c.Explain(sharing[c.Name])
	}
	return len(order) > 0
}

// LostQuorum explains why lease b was granted while a was held, or a while b was held: two quorums
// have a master in common, and each such master must have lost the key of one lease before it
// voted for the other. It reports whether it does: where several may hold a key, a may have lost nothing.
func (n *Narrative) LostQuorum(a, b *history.Lease, when time.Duration) bool {
	e := n.r.VoteIndex()
	if !e.Voted(a) || !e.Voted(b) {
		return true // the events of the grants already say that their votes were not recorded
	}
	second := map[string]history.Vote{} // by master: the answer yes to b
	for i, g := range b.Grants {
		switch {
		case g.At != when:
		case i == 0:
			for _, v := range e.Granting(b, history.CommandSet, b.Invoked, g.At, n.r.Slack, n.r.Quorum()) {
				second[v.Master] = v
			}
		default:
			for _, v := range e.Granting(b, history.CommandExtend, b.Grants[i-1].At, g.At, n.r.Slack, n.r.Quorum()) {
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
	for v := range e.OnLease(a) {
		later, voted := second[v.Master]
		if !voted || !facts.StoresKey(v) || v.At > when && v.At-v.Took > when {
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
	names = facts.Distinct(names)
	if len(names) == 0 {
		if e.Recorded(a, history.CommandSet) == facts.PartlyRecorded || e.Recorded(b, history.CommandSet) == facts.PartlyRecorded {
			return true // some master may have
		}
		var ms []string
		for m := range second {
			ms = append(ms, m)
		}
		n.Note(when, fmt.Sprintf("no master voted for both: %s for %s, %s for %s", fault.Enumerate(n.r.Voters(a)), a.Process, fault.Enumerate(facts.Distinct(ms)), Again(b.Process, a.Process)))
		return true
	}
	return EachLoss(names, func(m string) Loss {
		p := both[m]
		return n.LostKey(m, p.loser, p.yes, p.next)
	})
}

// LostKey finds why master m, after its yes to a lease, could say yes to the next SET or
// extension of another token. If other clients' keys were stored in between, it explains each loss
// in turn, and the narrative names these clients.
func (n *Narrative) LostKey(m string, a *history.Lease, yes, next history.Vote) Loss {
	// Where several may hold the key, a client that stored something in between took it from nobody.
	if between := n.between(m, a, yes, next); len(between) > 0 && n.r.Lock.Kind.OneToken() {
		first := between[0]
		c := n.lossBefore(m, a, yes, first)
		explain := c.Explain
		c.Name += " before " + first.Token
		c.Explain = func(ms []string) {
			if explain != nil {
				explain(ms)
			}
			aside := n.aside
			n.aside = true
			defer func() { n.aside = aside }()
			for i, v := range between {
				if x := n.r.RequestOf(v); x != nil { // another client's key was stored in between
					n.Request(x, true)
				}
				after := next
				switch {
				case i+1 < len(between):
					after = between[i+1]
				case next.Token == "": // next is a snapshot, which need not show that this client lost the key
					return
				}
				if x := n.lossBefore(m, n.LeaseOfVote(v), v, after); x.Explain != nil {
					x.Explain([]string{m})
				}
			}
		}
		return c
	}
	return n.lossBefore(m, a, yes, next)
}

// NoLine is the index of an event that no line shows: it comes after all lines.
const NoLine = 1 << 30

// maxBetween is the maximum number of clients with keys in between that a narrative names.
const maxBetween = 3

// between returns a master's yes answers to the SETs of other clients after one yes and before
// the next: the first of them, and the last maxBetween-1.
func (n *Narrative) between(m string, a *history.Lease, yes, next history.Vote) []history.Vote {
	var found []history.Vote
	last := time.Duration(1 << 61)
	if next.Index < NoLine {
		last = next.At + n.r.History.LongestDelay() // votes that arrived after last have lines after next's
	}
	for v := range n.r.CommandLogs().Granted[facts.Place{Master: m, Key: a.Key}].InFlight(yes.At, last) {
		if v.Index > yes.Index && v.Index < next.Index && v.Token != a.Token && v.Token != next.Token && facts.Sent(v) >= yes.At {
			found = append(found, v)
		}
	}
	if len(found) > maxBetween {
		found = append(found[:1:1], found[len(found)-maxBetween+1:]...)
	}
	return found
}

// LeaseOfVote returns the lease that a vote belongs to, or, if the client was not granted one, a lease
// that stands for the client's key on the master.
func (n *Narrative) LeaseOfVote(v history.Vote) *history.Lease {
	for _, l := range n.r.Leases {
		if l.Key == v.Key && l.Token == v.Token && l.Process == v.Client {
			return l
		}
	}
	return &history.Lease{Key: v.Key, Process: v.Client, Token: v.Token, LostIndex: -1, ReleaseIndex: -1, EnterIndex: -1, LeaveIndex: -1, Grants: []history.Grant{{Index: v.Index, At: v.At}}}
}

// lossBefore finds why a master that had stored a lease's key no longer stored it when it said
// yes to next. It tries the causes from the most certain to the least certain.
func (n *Narrative) lossBefore(m string, a *history.Lease, yes, next history.Vote) Loss {
	for _, find := range []func(string, *history.Lease, history.Vote, history.Vote) (Loss, bool){
		n.releasedOwn, n.expired, n.shortened, n.restarted, n.disturbed, n.deleted, n.unanswered, n.mayHaveExpired, n.restartedMeanwhile,
	} {
		if c, ok := find(m, a, yes, next); ok {
			return c
		}
	}
	if !n.r.Lock.Kind.OneToken() { // it may have said yes to both without losing anything
		return Loss{}
	}
	return Loss{Name: fmt.Sprint("unexplained ", next.Token, " ", a.Token), Explain: func(ms []string) {
		text := fmt.Sprintf("no recorded event explains why %s lost the key of %s: %s said yes to it by %s and to %s by %s", fault.Enumerate(ms), a.Process,
			theyOrIt(ms), At(yes.At), Again(next.Client, a.Process), At(next.At))
		if also := n.alsoReleased(m, a, yes, next); also != "" {
			text += "; " + also
		}
		n.Unexplained(Event{At: next.At, Masters: ms, Client: a.Process, Key: a.Key, Token: a.Token, Text: text})
	}}
}

// LostBy adds that masters no longer stored a lease's key. says is what the text says of them after their names; empty: the
// event has a text of another form.
func (n *Narrative) LostBy(masters []string, a *history.Lease, e Event, says string) {
	e.Kind, e.Masters, e.Client, e.Key, e.Token = EventLost, masters, a.Process, a.Key, a.Token
	if says != "" {
		e.Text = fault.Enumerate(masters) + " " + says
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
