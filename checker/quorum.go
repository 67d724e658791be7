package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// wasted is an attempt that a quorum voted for and that was not granted.
type wasted struct {
	who    party
	key    string
	yes    []history.Vote
	by     time.Duration // the quorum was there
	ending attempt       // the acquire that it belongs to
	again  bool          // that acquire made another attempt
}

// quorumGranted judges one thing of AV: an attempt that a quorum of masters voted for in
// time is granted. In time is within half the TTL. Left out are acquires that may have been
// cancelled at that moment (the last of a client before the healing, and those that had
// lasted for three TTLs), clients that stood still, ended or whose clock was bent, and
// locks with fencing tokens, whose votes are not all that they need.
func (r *run) quorumGranted() *Result {
	q, ttl := r.quorum(), r.h.Header.TTL
	if q == 0 || ttl <= 0 || r.h.Header.Fencing {
		return nil
	}
	granted := map[party]bool{}
	for _, l := range r.leases {
		granted[party{l.Process, l.Token}] = true
	}
	byClient := map[string][]attempt{}
	for _, a := range r.attempts() {
		byClient[a.client] = append(byClient[a.client], a)
	}
	healing := r.healed()
	type attemptID struct {
		key string
		who party
	}
	votes := map[attemptID][]history.Vote{}
	var order []attemptID
	after := map[attemptID]time.Duration{} // when its client sent the first SET of the attempt after it
	before := map[string]attemptID{}
	for _, v := range r.lookup().votes {
		if v.Command != history.CommandSet {
			continue
		}
		id := attemptID{v.Key, party{v.Client, v.Token}}
		if votes[id] == nil {
			order = append(order, id)
			if earlier, any := before[v.Client]; any {
				after[earlier] = sent(v)
			}
			before[v.Client] = id
		}
		votes[id] = append(votes[id], v)
	}
	judged := 0
	var all []wasted
	for _, id := range order {
		x := wasted{who: id.who, key: id.key}
		began := time.Duration(1<<63 - 1)
		for _, v := range votes[id] {
			began = min(began, sent(v))
			if v.Yes {
				x.yes = append(x.yes, v)
			}
		}
		if len(x.yes) < q {
			continue
		}
		slices.SortFunc(x.yes, func(a, b history.Vote) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Index, b.Index)) })
		x.by = x.yes[q-1].At
		if granted[id.who] {
			judged++
			continue
		}
		mine := byClient[id.who.client]
		i, exact := slices.BinarySearchFunc(mine, began, func(a attempt, at time.Duration) int { return cmp.Compare(a.invoked, at) })
		if !exact {
			i--
		}
		if i < 0 || x.by-began > ttl/2 {
			continue
		}
		x.ending = mine[i]
		next, tried := after[id]
		x.again = tried && next <= x.ending.ended && next > x.by
		cancelled := x.ending.ended-x.ending.invoked >= 3*ttl || i+1 == len(mine) || healing.problem == "" && x.ending.invoked < healing.at && mine[i+1].invoked >= healing.at
		end := x.ending.ended
		switch {
		case x.ending.open, x.ending.key != id.key, x.ending.ended < x.by, !x.again && (cancelled || x.ending.ok):
		case r.stoppedIn(id.who.client, began, end), r.goneIn(id.who.client, began, end), r.stalledIn(began-voteSlack, x.by+voteSlack), r.clockBent(id.who.client, began, end):
		default:
			judged++
			all = append(all, x)
		}
	}
	if judged == 0 {
		return nil
	}
	found := make([]Violation, 0, len(all))
	byVote := map[int]wasted{}
	for _, x := range all {
		proof := x.yes[q-1]
		byVote[proof.Index] = x
		found = append(found, Violation{Key: x.key, At: x.by, Until: max(x.by, x.ending.ended), Ops: append(slices.Clone(x.ending.ops), proof.Index), Tokens: []string{x.who.token}, Clients: []string{x.who.client}})
	}
	res := result(QuorumGranted, judged, found, func(v *Violation) { r.explainWasted(v, byVote[v.Ops[len(v.Ops)-1]]) })
	if len(found) > 0 {
		res.Why = fmt.Sprintf("%s that a quorum voted for in time were not granted: the first at %s on %s", share(len(found), judged, "attempts"), at(res.Violations[0].At), res.Key)
		return res
	}
	res.Why = fmt.Sprintf("%s that a quorum voted for in time, and all were granted", count(judged, "attempt", "attempts")) + r.tried()
	return res
}

// clockBent says whether a client's clock ran at another rate within a time.
func (r *run) clockBent(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.faults, func(f *history.Fault) bool {
		return f.Name == "client-clock" && f.Installed && slices.Contains(f.Clients, client) && overlaps(f.Began, f.To, from, to)
	})
}
