package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// asked is one request: a command that a client sent to several masters at once, and their answers.
type asked struct {
	who     party
	key     string
	command string
	sent    time.Duration
	votes   []history.Vote // in the order in which the client received them
}

// atOnce is the longest time between the commands of one request. A request asks each master
// once: a second command to a master belongs to the next request, however soon it follows.
const atOnce = 2 * time.Millisecond

// byAnswer orders votes by when the client received them.
func byAnswer(a, b history.Vote) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Index, b.Index))
}

// requester is a party and the key that it sends requests for.
type requester struct {
	key string
	who party
}

// requests returns the requests of a party about a key, in the order of their first answers.
func (r *run) requests(key string, who party) []*asked {
	return r.asks.get(requester{key, who}, r.findRequests)
}

func (r *run) findRequests(of requester) []*asked {
	key, who := of.key, of.who
	vs := r.lookup().token(who.token)
	var votes []history.Vote
	for i := range vs.ids {
		if k := vs.kind(i); k.Key == key && k.Client == who.client {
			votes = append(votes, vs.at(i))
		}
	}
	slices.SortStableFunc(votes, func(a, b history.Vote) int { return cmp.Compare(sent(a), sent(b)) })
	latest := map[string][]*asked{} // by command: the requests that can still take a master's answer, in order
	var all []*asked
	for _, v := range votes {
		open := slices.DeleteFunc(latest[v.Command], func(a *asked) bool { return sent(v)-a.sent > atOnce })
		i := slices.IndexFunc(open, func(a *asked) bool { return !a.of(v.Master) })
		if i < 0 {
			i = len(open)
			open = append(open, &asked{who: who, key: key, command: v.Command, sent: sent(v)})
			all = append(all, open[i])
		}
		latest[v.Command] = open
		open[i].votes = append(open[i].votes, v)
	}
	for _, a := range all {
		slices.SortStableFunc(a.votes, byAnswer)
	}
	slices.SortStableFunc(all, func(a, b *asked) int { return byAnswer(a.votes[0], b.votes[0]) })
	return all
}

// requestOf returns the request that a vote answers.
func (r *run) requestOf(v history.Vote) *asked {
	for _, a := range r.requests(v.Key, party{v.Client, v.Token}) {
		if slices.ContainsFunc(a.votes, func(x history.Vote) bool { return x.Index == v.Index }) {
			return a
		}
	}
	return nil
}

// attemptsBy returns the requests of a client to set a key, with any token, that were sent at to or
// earlier and got an answer at from or later, in the order of their first answers.
func (r *run) attemptsBy(client, key string, from, to time.Duration) []*asked {
	seen := map[string]bool{}
	var found []*asked
	for v := range r.lookup().between(from, to+r.h.LongestTook()) {
		if v.Client != client || v.Key != key || v.Command != history.CommandSet || seen[v.Token] {
			continue
		}
		seen[v.Token] = true
		for _, a := range r.requests(key, party{client, v.Token}) {
			if a.command == history.CommandSet && a.sent <= to && a.votes[len(a.votes)-1].At >= from {
				found = append(found, a)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *asked) int {
		return byAnswer(a.votes[0], b.votes[0])
	})
	return found
}

// of reports whether the request was sent to a master.
func (a *asked) of(master string) bool {
	return slices.ContainsFunc(a.votes, func(v history.Vote) bool { return v.Master == master })
}

func (a *asked) masters() []string { return masters(a.votes) }

// granting returns the requests by which a lease was granted: one for all masters or one for
// each, and the requests that write fencing tokens back. It goes backwards and takes each master
// once, since earlier attempts may have had the same token.
func (r *run) granting(l *history.Lease) []*asked {
	var found []*asked
	seen := map[string]bool{}
	for _, a := range slices.Backward(r.requests(l.Key, party{l.Process, l.Token})) {
		if a.sent > l.Acquired() || a.sent == l.Acquired() && a.votes[0].Index > l.ID {
			continue
		}
		if a.command == history.CommandWriteBack && len(seen) == 0 {
			found = append(found, a)
		}
		if a.command != history.CommandSet || slices.ContainsFunc(a.masters(), func(m string) bool { return seen[m] }) {
			continue
		}
		for _, m := range a.masters() {
			seen[m] = true
		}
		found = append(found, a)
	}
	return found
}

// began returns when the first of the requests by which a lease was granted was sent; if none was
// recorded, when its acquire was called.
func (r *run) began(l *history.Lease) time.Duration {
	began := l.Invoked
	for i, a := range r.granting(l) {
		if i == 0 || a.sent < began {
			began = a.sent
		}
	}
	return began
}

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

// executed returns the latest time at which a master can have executed a command, and its order
// among the events of that time. It is when the client received the answer, or, if a fault struck
// the master in between, just before the fault: a master that is down sends no answers, and an
// answer from after a clock change or a restart is about what the master did since.
func (r *run) executed(v history.Vote) (when time.Duration, order int) {
	when, order = v.At, 2*v.Index
	if v.Unknown || v.Took == 0 {
		return when, order
	}
	for _, f := range r.faultsWithin(sent(v), v.At) {
		if !f.Installed || !slices.Contains(f.Masters, v.Master) || !ends(f.Name) && fault.Of(f.Name).Clock != fault.MasterClock {
			continue
		}
		if s, line := r.strike(f, v.Master); s > sent(v) && s <= when && line < order/2 {
			when, order = s, 2*line-1
		}
	}
	return when, order
}

// shortToken returns the first 8 characters of a token, enough to tell it from others.
func shortToken(token string) string {
	if r := []rune(token); len(r) > 8 {
		return string(r[:8])
	}
	return token
}

// silences reports whether a fault may be why a master did not answer.
func silences(f *history.Fault, v history.Vote) bool {
	if !v.Unknown || !f.Installed || f.From > v.At || f.To < sent(v) || !slices.Contains(f.Masters, v.Master) {
		return false
	}
	if len(f.Clients) > 0 && !slices.Contains(f.Clients, v.Client) {
		return false
	}
	return fault.Of(f.Name).Silences()
}

// stopsRequests reports whether a fault keeps a command from its master.
func stopsRequests(f *history.Fault) bool {
	return !fault.Of(f.Name).Delays() && f.Params["direction"] != "replies"
}
