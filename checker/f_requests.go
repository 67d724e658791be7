package checker

import (
	"cmp"
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
