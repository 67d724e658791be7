package facts

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// Request is one request: a command that a client sent to several masters at once, and their answers.
type Request struct {
	Party   Party
	Key     string
	Command string
	Sent    time.Duration
	Votes   []history.Vote // in the order in which the client received them
}

// RequestSpread is the longest time between the commands of one request. A request asks each master
// once: a second command to a master belongs to the next request, however soon it follows.
const RequestSpread = 2 * time.Millisecond

// ByArrival orders votes by when the client received them.
func ByArrival(a, b history.Vote) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Index, b.Index))
}

// requester is a party and the key that it sends requests for.
type requester struct {
	key string
	who Party
}

// Requests returns the requests of a party about a key, in the order of their first answers.
func (r *Run) Requests(key string, who Party) []*Request {
	return r.requestsOf.get(requester{key, who}, r.findRequests)
}

func (r *Run) findRequests(of requester) []*Request {
	key, who := of.key, of.who
	vs := r.VoteIndex().ByToken(who.Token)
	var votes []history.Vote
	for i := range vs.IDs {
		if k := vs.Kind(i); k.Key == key && k.Client == who.Client {
			votes = append(votes, vs.At(i))
		}
	}
	slices.SortStableFunc(votes, func(a, b history.Vote) int { return cmp.Compare(Sent(a), Sent(b)) })
	latest := map[string][]*Request{} // by command: the requests that can still take a master's answer, in order
	var all []*Request
	for _, v := range votes {
		open := slices.DeleteFunc(latest[v.Command], func(a *Request) bool { return Sent(v)-a.Sent > RequestSpread })
		i := slices.IndexFunc(open, func(a *Request) bool { return !a.SentTo(v.Master) })
		if i < 0 {
			i = len(open)
			open = append(open, &Request{Party: who, Key: key, Command: v.Command, Sent: Sent(v)})
			all = append(all, open[i])
		}
		latest[v.Command] = open
		open[i].Votes = append(open[i].Votes, v)
	}
	for _, a := range all {
		slices.SortStableFunc(a.Votes, ByArrival)
	}
	slices.SortStableFunc(all, func(a, b *Request) int { return ByArrival(a.Votes[0], b.Votes[0]) })
	return all
}

// RequestOf returns the request that a vote answers.
func (r *Run) RequestOf(v history.Vote) *Request {
	for _, a := range r.Requests(v.Key, Party{v.Client, v.Token}) {
		if slices.ContainsFunc(a.Votes, func(x history.Vote) bool { return x.Index == v.Index }) {
			return a
		}
	}
	return nil
}

// SetRequests returns the requests of a client to set a key, with any token, that were sent at to or
// earlier and got an answer at from or later, in the order of their first answers.
func (r *Run) SetRequests(client, key string, from, to time.Duration) []*Request {
	seen := map[string]bool{}
	var found []*Request
	for v := range r.VoteIndex().Between(from, to+r.History.LongestTook()) {
		if v.Client != client || v.Key != key || v.Command != history.CommandSet || seen[v.Token] {
			continue
		}
		seen[v.Token] = true
		for _, a := range r.Requests(key, Party{client, v.Token}) {
			if a.Command == history.CommandSet && a.Sent <= to && a.Votes[len(a.Votes)-1].At >= from {
				found = append(found, a)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *Request) int {
		return ByArrival(a.Votes[0], b.Votes[0])
	})
	return found
}

// SentTo reports whether the request was sent to a master.
func (a *Request) SentTo(master string) bool {
	return slices.ContainsFunc(a.Votes, func(v history.Vote) bool { return v.Master == master })
}

// Masters returns the masters that it was sent to.
func (a *Request) Masters() []string { return MastersOf(a.Votes) }

// GrantingRequests returns the requests by which a lease was granted: one for all masters or one for
// each, and the requests that write fencing tokens back. It goes backwards and takes each master
// once, since earlier attempts may have had the same token.
func (r *Run) GrantingRequests(l *history.Lease) []*Request {
	var found []*Request
	seen := map[string]bool{}
	for _, a := range slices.Backward(r.Requests(l.Key, Party{l.Process, l.Token})) {
		if a.Sent > l.Acquired() || a.Sent == l.Acquired() && a.Votes[0].Index > l.ID {
			continue
		}
		if a.Command == history.CommandWriteBack && len(seen) == 0 {
			found = append(found, a)
		}
		if a.Command != history.CommandSet || slices.ContainsFunc(a.Masters(), func(m string) bool { return seen[m] }) {
			continue
		}
		for _, m := range a.Masters() {
			seen[m] = true
		}
		found = append(found, a)
	}
	return found
}

// RequestedAt returns when the first of the requests by which a lease was granted was sent; if none was
// recorded, when its acquire was called.
func (r *Run) RequestedAt(l *history.Lease) time.Duration {
	began := l.Invoked
	for i, a := range r.GrantingRequests(l) {
		if i == 0 || a.Sent < began {
			began = a.Sent
		}
	}
	return began
}

// ExecutedBy returns the latest time at which a master can have executed a command, and its order
// among the events of that time. It is when the client received the answer, or, if a fault struck
// the master in between, just before the fault: a master that is down sends no answers, and an
// answer from after a clock change or a restart is about what the master did since.
func (r *Run) ExecutedBy(v history.Vote) (when time.Duration, order int) {
	when, order = v.At, 2*v.Index
	if v.Unknown || v.Took == 0 {
		return when, order
	}
	for _, f := range r.FaultsWithin(Sent(v), v.At) {
		if !f.Installed || !slices.Contains(f.Masters, v.Master) || !fault.Of(f.Name).EndsMaster() && fault.Of(f.Name).Clock != fault.MasterClock {
			continue
		}
		if s, line := r.StruckAt(f, v.Master); s > Sent(v) && s <= when && line < order/2 {
			when, order = s, 2*line-1
		}
	}
	return when, order
}
