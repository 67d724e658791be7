package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// request adds a request and the answers to it. detail keeps them out of the violation's reason.
func (n *narrative) request(a *asked, detail bool) {
	n.from = min(n.from, a.sent)
	names := a.masters()
	all := Enumerate(names)
	if h := n.r.h.Header.Masters; h == len(names) && h > 2 {
		all = fmt.Sprintf("all %d masters", h)
	}
	e := Event{
		At: a.sent, Kind: EventAsked, Detail: detail, Client: a.who.client, Masters: names, Key: a.key, Token: a.who.token, Command: a.command,
		Word: "SET",
	}
	for _, v := range a.votes {
		e.Ops = append(e.Ops, v.Index)
		if v.Unknown && slices.ContainsFunc(n.r.faultsWithin(sent(v), v.At), func(f *history.Fault) bool { return silences(f, v) && stopsRequests(f) }) {
			e.Cut = append(e.Cut, v.Master)
		}
	}
	switch a.command {
	case history.CommandSet:
		e.Text = fmt.Sprintf("%s asked %s for %s: %s with the token %s", a.who.client, all, a.key, cmp.Or(a.votes[0].Form, "SET NX"), shortToken(a.who.token))
		if ttl := n.r.lifetime(a.votes[0]); ttl > 0 {
			e.TTL = ttl
			e.Text += ", for " + at(ttl)
		}
	case history.CommandExtend:
		e.Word, e.Text = "extend", fmt.Sprintf("%s asked %s to extend its lease%s", a.who.client, all, by(a))
	case history.CommandRelease:
		e.Word, e.Text = "release", fmt.Sprintf("%s asked %s to delete the key of its token %s%s", a.who.client, all, shortToken(a.who.token), by(a))
	case history.CommandWriteBack:
		e.Word, e.Text = "fence", fmt.Sprintf("%s wrote the highest fencing token back to %s", a.who.client, all)
	default:
		e.Word, e.Text = a.command, fmt.Sprintf("%s sent %s the command %q", a.who.client, all, a.command)
	}
	n.putAsked(e, a)
	for _, v := range a.votes {
		n.answer(a, v, detail)
	}
}

// by names the command of a request, if it is known, as the end of a sentence.
func by(a *asked) string {
	if form := a.votes[0].Form; form != "" {
		return " by " + form
	}
	return ""
}

// putAsked adds a request after all lines of the time at which it was sent, but before its first
// answer.
func (n *narrative) putAsked(e Event, a *asked) {
	i := n.r.h.Before(e.At + 1)
	n.put(placed{Event: e, order: 2*min(i, slices.Min(e.Ops)) - 1, ask: a})
}

// answer adds one master's answer to a request.
func (n *narrative) answer(a *asked, v history.Vote, detail bool) {
	e := placed{ask: a}
	e.Event = Event{Kind: EventAnswered, Detail: detail, Client: a.who.client, Key: a.key, Token: a.who.token, Command: a.command, Ops: []int{v.Index}}
	e.At, e.order = n.r.executed(v)
	e.Fence = n.r.h.FenceOf(v.Index)
	if keeps(v) {
		e.TTL = n.r.lifetime(v)
	}
	switch {
	case v.Unknown:
		e.Silent = []string{v.Master}
	case v.Yes:
		e.Yes = []string{v.Master}
	default:
		e.No = []string{v.Master}
	}
	e.Text = fmt.Sprintf("answer %d", v.Index) // a placeholder: join writes the text
	n.put(e)
}

// vote adds the request that a vote answers, with only the vote's master.
func (n *narrative) vote(v history.Vote) {
	if a := n.r.requestOf(v); a != nil {
		n.only(a, v.Master)
	}
}

// only adds a request with only one of its masters and that master's answer, as part of the reason.
func (n *narrative) only(a *asked, master string) {
	one := &asked{who: a.who, key: a.key, command: a.command}
	for _, v := range a.votes {
		if v.Master == master {
			one.sent = sent(v)
			one.votes = append(one.votes, v)
		}
	}
	n.request(one, false)
}

// answersSince adds the requests whose answers a grant rests on, as part of the reason.
func (n *narrative) answersSince(b backing) {
	for _, a := range n.r.requests(b.lease.Key, party{b.lease.Process, b.lease.Token}) {
		if a.command != history.CommandRelease && a.sent >= b.since-n.r.slack && a.sent <= b.grant.At {
			n.request(a, false)
		}
	}
}

// lastTry adds a client's last request for a key between two times, and reports whether there was one.
func (n *narrative) lastTry(client string, from, to time.Duration) bool {
	var last *asked
	for _, a := range n.r.attemptsBy(client, n.v.Key, from, to) {
		if a.votes[0].At >= from && (last == nil || a.sent > last.sent) {
			last = a
		}
	}
	if last == nil {
		return false
	}
	n.request(last, false)
	for _, v := range last.votes {
		for _, f := range n.r.faultsWithin(sent(v), v.At) {
			if silences(f, v) {
				n.fault(f, false, nil)
			}
		}
	}
	return true
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

// slowVotes adds the faults that delayed the votes by which a lease was granted.
func (n *narrative) slowVotes(l *history.Lease) {
	for _, a := range n.r.granting(l) {
		for _, v := range a.votes {
			for _, f := range n.r.faultsWithin(sent(v), v.At) {
				if f.Installed && disrupts(f) && f.From <= v.At && f.To >= sent(v) && reaches(f, v) {
					n.fault(f, false, nil)
				}
			}
		}
	}
}

// slow adds the faults that delayed the masters' answers to the extensions of a lease between two
// times.
func (n *narrative) slow(l *history.Lease, from, to time.Duration) {
	for v := range n.r.lookup().of(l) {
		if v.Command != history.CommandExtend || v.At < from || sent(v) > to {
			continue
		}
		for _, f := range n.r.faultsWithin(sent(v), v.At) {
			if !slices.Contains(f.Masters, v.Master) || len(f.Clients) > 0 && !slices.Contains(f.Clients, l.Process) || !f.Installed || f.From > v.At || f.To < sent(v) {
				continue
			}
			if disrupts(f) {
				n.fault(f, false, nil)
			}
		}
	}
}

// lostLease adds that so many masters refused an extension that the lock must know that it has
// lost the lease.
func (n *narrative) lostLease(l *history.Lease, failed *history.Op) {
	asked, _ := n.r.asked(failed.Index)
	for _, a := range n.r.requests(l.Key, party{l.Process, l.Token}) {
		if a.command == history.CommandExtend && a.sent >= asked && a.sent <= failed.Time {
			n.request(a, false)
		}
	}
	n.add(Event{At: failed.Time, Kind: EventRefused, Client: l.Process, Key: l.Key, Token: l.Token, Command: history.FExtend, Word: "lost", Ops: []int{failed.Index},
		Text: fmt.Sprintf("an extension of %s failed: so many masters had refused it that no quorum could hold the token", l.Process)})
}
