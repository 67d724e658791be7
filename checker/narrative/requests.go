package narrative

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/history/fault"
)

// Request adds a request and the answers to it. detail keeps them out of the violation's reason.
func (n *Narrative) Request(a *facts.Request, detail bool) {
	n.from = min(n.from, a.Sent)
	names := a.Masters()
	all := fault.Enumerate(names)
	if h := n.r.History.Header.Masters; h == len(names) && h > 2 {
		all = fmt.Sprintf("all %d masters", h)
	}
	e := Event{
		At: a.Sent, Kind: EventAsked, Detail: detail, Client: a.Party.Client, Masters: names, Key: a.Key, Token: a.Party.Token, Command: a.Command,
		Word: "SET",
	}
	for _, v := range a.Votes {
		e.Ops = append(e.Ops, v.Index)
		if v.Unknown && slices.ContainsFunc(n.r.FaultsWithin(facts.Sent(v), v.At), func(f *history.Fault) bool {
			return facts.Silences(f, v) && !fault.Of(f.Name).Delays() && f.Params["direction"] != "replies"
		}) {
			e.Cut = append(e.Cut, v.Master)
		}
	}
	switch ofToken := n.ofToken(a); a.Command {
	case history.CommandSet:
		form := cmp.Or(a.Votes[0].Form, "SET NX")
		if !ofToken {
			e.Word, form = "acquire", "a hold"
		}
		e.Text = fmt.Sprintf("%s asked %s for %s: %s with the token %s", a.Party.Client, all, a.Key, form, shortToken(a.Party.Token))
		if ttl := n.r.Lifetime(a.Votes[0]); ttl > 0 {
			e.TTL = ttl
			e.Text += ", for " + At(ttl)
		}
	case history.CommandExtend:
		e.Word, e.Text = "extend", fmt.Sprintf("%s asked %s to extend its lease%s", a.Party.Client, all, by(a))
	case history.CommandRelease:
		what := "delete the key"
		if !ofToken {
			what = "end the hold"
		}
		e.Word, e.Text = "release", fmt.Sprintf("%s asked %s to %s of its token %s%s", a.Party.Client, all, what, shortToken(a.Party.Token), by(a))
	case history.CommandWriteBack:
		e.Word, e.Text = "fence", fmt.Sprintf("%s wrote the highest fencing token back to %s", a.Party.Client, all)
	default:
		e.Word, e.Text = a.Command, fmt.Sprintf("%s sent %s the command %q", a.Party.Client, all, a.Command)
	}
	n.putAsked(e, a)
	for _, v := range a.Votes {
		n.answer(a, v, detail)
	}
}

// ofToken reports whether a request is about the one token that a master stores for the key. That is known of each vote
// that was read from what masters did. A lock that tells its votes and that several may hold has scripts of its own.
func (n *Narrative) ofToken(a *facts.Request) bool {
	return n.r.Lock.Kind.OneToken() || a.Votes[0].Form != ""
}

// by names the command of a request, if it is known, as the end of a sentence.
func by(a *facts.Request) string {
	if form := a.Votes[0].Form; form != "" {
		return " by " + form
	}
	return ""
}

// putAsked adds a request after all lines of the time at which it was sent, but before its first
// answer.
func (n *Narrative) putAsked(e Event, a *facts.Request) {
	i := n.r.History.Before(e.At + 1)
	n.put(placed{Event: e, order: 2*min(i, slices.Min(e.Ops)) - 1, ask: a})
}

// answer adds one master's answer to a request.
func (n *Narrative) answer(a *facts.Request, v history.Vote, detail bool) {
	e := placed{ask: a}
	e.Event = Event{Kind: EventAnswered, Detail: detail, Client: a.Party.Client, Key: a.Key, Stored: v.Stored, Token: a.Party.Token, Command: a.Command, Ops: []int{v.Index}}
	e.At, e.order = n.r.ExecutedBy(v)
	e.Fence = n.r.History.FenceOf(v.Index)
	if facts.StoresKey(v) {
		e.TTL = n.r.Lifetime(v)
	}
	switch {
	case v.Unknown:
		e.Silent = []string{v.Master}
	case v.Yes:
		e.Yes = []string{v.Master}
	case v.Error != "":
		e.Failed = []string{v.Master}
	default:
		e.No = []string{v.Master}
	}
	e.Text = fmt.Sprintf("answer %d", v.Index) // a placeholder: join writes the text
	n.put(e)
}

// VoteOf adds the request that a vote answers, with only the vote's master.
func (n *Narrative) VoteOf(v history.Vote) {
	if a := n.r.RequestOf(v); a != nil {
		n.OneMaster(a, v.Master)
	}
}

// OneMaster adds a request with only one of its masters and that master's answer, as part of the reason.
func (n *Narrative) OneMaster(a *facts.Request, master string) {
	one := &facts.Request{Party: a.Party, Key: a.Key, Command: a.Command}
	for _, v := range a.Votes {
		if v.Master == master {
			one.Sent = facts.Sent(v)
			one.Votes = append(one.Votes, v)
		}
	}
	n.Request(one, false)
}

// AnswersSince adds the requests whose answers a grant rests on, as part of the reason.
func (n *Narrative) AnswersSince(b facts.Backing) {
	for _, a := range n.r.Requests(b.Lease.Key, facts.Party{Client: b.Lease.Process, Token: b.Lease.Token}) {
		if a.Command != history.CommandRelease && a.Sent >= b.Since-n.r.Slack && a.Sent <= b.Grant.At {
			n.Request(a, false)
		}
	}
}

// lastTry adds a client's last request for a key between two times, and reports whether there was one.
func (n *Narrative) lastTry(client string, from, to time.Duration) bool {
	var last *facts.Request
	for _, a := range n.r.SetRequests(client, n.Violation.Key, from, to) {
		if a.Votes[0].At >= from && (last == nil || a.Sent > last.Sent) {
			last = a
		}
	}
	if last == nil {
		return false
	}
	n.Request(last, false)
	for _, v := range last.Votes {
		n.faultsOn(v, facts.Silences, false)
	}
	return true
}

// Refusals adds, as a detail, how many attempts of a client were refused before the violation.
func (n *Narrative) Refusals(client string) {
	var first, last *facts.Request
	count := 0
	for _, a := range n.r.SetRequests(client, n.Violation.Key, n.from, n.Violation.At) {
		if a.Sent < n.from || a.Sent >= n.Violation.At || slices.Contains(n.Violation.Tokens, a.Party.Token) {
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
	text := fmt.Sprintf("%s asked for %s and was refused", client, n.Violation.Key)
	if count > 1 {
		text = fmt.Sprintf("%s had asked for %s %d times since %s and was refused each time", client, n.Violation.Key, count, At(first.Sent))
	}
	n.AddAt(AfterLines, Event{At: last.Sent, Kind: EventTried, Detail: true, Client: client, Key: n.Violation.Key, Count: count, Word: "refused", Text: text})
}

// silentFaults adds, as details, the faults that kept masters from answering requests in the
// narrative.
func (n *Narrative) silentFaults() {
	for _, e := range slices.Clone(n.events) {
		if e.Kind != EventAsked {
			continue
		}
		for _, v := range e.ask.Votes {
			n.faultsOn(v, facts.Silences, true)
		}
	}
}

// faultsOn adds the faults that did something to a vote, of their masters some or, without any, all.
func (n *Narrative) faultsOn(v history.Vote, did func(*history.Fault, history.Vote) bool, detail bool, masters ...string) {
	for _, f := range n.r.FaultsWithin(facts.Sent(v), v.At) {
		if did(f, v) {
			n.Fault(f, detail, masters)
		}
	}
}

// SlowVotes adds the faults that delayed the votes by which a lease was granted.
func (n *Narrative) SlowVotes(l *history.Lease) {
	for _, a := range n.r.GrantingRequests(l) {
		for _, v := range a.Votes {
			n.faultsOn(v, facts.Delays, false)
		}
	}
}

// slow adds the faults that delayed the masters' answers to the extensions of a lease between two
// times.
func (n *Narrative) slow(l *history.Lease, from, to time.Duration) {
	for v := range n.r.VoteIndex().OnLease(l) {
		if v.Command != history.CommandExtend || v.At < from || facts.Sent(v) > to {
			continue
		}
		v.Client = l.Process // a vote need not name it
		n.faultsOn(v, facts.Delays, false)
	}
}

// LostLease adds that so many masters refused an extension that the lock must know that it has
// lost the lease.
func (n *Narrative) LostLease(l *history.Lease, failed *history.Op) {
	asked, _ := n.r.CalledAt(failed.Index)
	for _, a := range n.r.Requests(l.Key, facts.Party{Client: l.Process, Token: l.Token}) {
		if a.Command == history.CommandExtend && a.Sent >= asked && a.Sent <= failed.Time {
			n.Request(a, false)
		}
	}
	n.Add(Event{At: failed.Time, Kind: EventRefused, Client: l.Process, Key: l.Key, Token: l.Token, Command: history.FExtend, Word: "lost", Ops: []int{failed.Index},
		Text: fmt.Sprintf("an extension of %s failed: so many masters had refused it that no quorum could hold the token", l.Process)})
}

// answers describes the masters' answers.
func (n *Narrative) answers(e *placed) string {
	var parts []string
	say := func(masters []string, text string) {
		if len(masters) > 0 {
			parts = append(parts, fault.Enumerate(facts.Distinct(masters))+" "+text)
		}
	}
	byReason := map[string][]string{}
	var reasons []string
	group := func(masters []string, why func(string) string) {
		clear(byReason)
		reasons = reasons[:0]
		for _, m := range facts.Distinct(masters) {
			w := why(m)
			if byReason[w] == nil {
				reasons = append(reasons, w)
			}
			byReason[w] = append(byReason[w], m)
		}
		for _, w := range reasons {
			say(byReason[w], w)
		}
	}
	yes := "said yes"
	if e.Command == history.CommandRelease && n.ofToken(e.ask) {
		yes = "deleted the key"
	}
	say(e.Yes, yes)
	group(e.No, func(m string) string { return "said no" + n.refusal(e, m) })
	group(e.Failed, func(m string) string { return "answered with an error (" + e.failure(m) + ")" })
	group(e.Silent, func(m string) string {
		if slices.ContainsFunc(e.ask.Votes, func(v history.Vote) bool { return v.Master == m && v.Maybe }) {
			return "gave an answer that is not known"
		}
		return "did not answer" + n.silence(e, m)
	})
	return strings.Join(parts, "; ")
}

// refusal returns the reason why a master said no, as far as the votes show it.
func (n *Narrative) refusal(e *placed, master string) string {
	if !n.ofToken(e.ask) {
		return ""
	}
	if e.Command != history.CommandSet {
		return ": the key did not store that token"
	}
	if x := n.r.HolderAt(facts.Place{Master: master, Key: e.Key}, e.At); x != nil && x.Party.Token != e.Token {
		return fmt.Sprintf(": it stored the key of %s", Again(x.Party.Client, e.Client))
	}
	return ""
}

// failure returns the error that a master answered with.
func (e *placed) failure(master string) string {
	i := slices.IndexFunc(e.ask.Votes, func(v history.Vote) bool { return v.Master == master && !v.Unknown && v.Error != "" })
	return e.ask.Votes[i].Error
}

// silence names the faults that may be why a master did not answer.
func (n *Narrative) silence(e *placed, master string) string {
	var names []string
	for _, v := range e.ask.Votes {
		if v.Master != master || !v.Unknown {
			continue
		}
		for _, f := range n.r.FaultsWithin(facts.Sent(v), v.At) {
			if facts.Silences(f, v) {
				names = append(names, fmt.Sprintf("%s #%d", f.Name, f.ID))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}
