package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// ungranted is an attempt that was not granted although a quorum voted for it.
type ungranted struct {
	who    party
	key    string
	yes    []history.Vote
	by     time.Duration // when the quorum's votes had arrived
	ending attempt       // the acquire that it belongs to
	again  bool          // that acquire made another attempt
}

var QuorumGranted = Property{
	Name: "quorum-granted", Level: "AV",
	Says:  "an attempt that a quorum voted for in time is granted",
	Votes: true,
	rules: &rules{
		judge: (*run).quorumGranted,
		gaps:  []gap{{func(h *history.History) bool { return h.Header.Fencing }, "a lease with a fencing token needs more than a quorum's votes"}, {nil, "no vote on an attempt was recorded"}},
	},
}

// quorumGranted judges one part of AV: an attempt is granted if a quorum of masters voted for it
// within half the TTL. It does not judge acquires that may have been cancelled at that moment (the
// last acquire of a client before the healing, and any acquire that had lasted for three TTLs),
// clients that stood still, crashed or whose clock was changed, and locks with fencing tokens,
// which need more than the votes.
func (r *run) quorumGranted() *judgement {
	q, ttl := r.quorum(), r.h.Header.TTL
	if q == 0 || ttl <= 0 || r.h.Header.Fencing {
		return nil
	}
	byClient := map[string][]attempt{}
	for _, a := range r.attempts() {
		byClient[a.client] = append(byClient[a.client], a)
	}
	healing := r.healed()
	var judged []time.Duration
	var all []ungranted
	for _, s := range r.setAttempts() {
		first := s.votes.at(0)
		who := party{first.Client, first.Token}
		x := ungranted{who: who, key: first.Key}
		yes := 0
		for i := range s.votes.ids {
			if s.votes.kind(i).Yes {
				yes++
			}
		}
		if yes < q {
			continue
		}
		for v := range s.votes.all() {
			if v.Yes {
				x.yes = append(x.yes, v)
			}
		}
		slices.SortFunc(x.yes, func(a, b history.Vote) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Index, b.Index)) })
		x.by = x.yes[q-1].At
		if !r.counts(x.by) {
			continue
		}
		mine := byClient[who.client]
		i, exact := slices.BinarySearchFunc(mine, s.began, func(a attempt, at time.Duration) int { return cmp.Compare(a.invoked, at) })
		if !exact {
			i--
		}
		if i < 0 {
			continue
		}
		x.ending = mine[i]
		if l := r.grantOf(x.ending); l != nil && l.Token == who.token && l.Key == first.Key {
			judged = append(judged, x.by)
			continue
		}
		if x.by-s.began > ttl/2 {
			continue
		}
		x.again = s.next != 0 && s.next <= x.ending.ended && s.next > x.by
		cancelled := x.ending.ended-x.ending.invoked >= 3*ttl || i+1 == len(mine) || healing.problem == "" && x.ending.invoked < healing.at && mine[i+1].invoked >= healing.at
		end := x.ending.ended
		switch {
		case x.ending.open, x.ending.key != first.Key, x.ending.ended < x.by, x.ending.ended >= r.interrupted.at, !x.again && (cancelled || x.ending.ok):
		case r.stoppedIn(who.client, s.began, end), r.goneIn(who.client, s.began, end), r.stalledIn(s.began-r.slack, x.by+r.slack), r.clockBent(who.client, s.began, end):
		default:
			judged = append(judged, x.by)
			all = append(all, x)
		}
	}
	if len(judged) == 0 {
		return nil
	}
	found := make([]Violation, 0, len(all))
	byVote := map[int]ungranted{}
	for _, x := range all {
		proof := x.yes[q-1]
		byVote[proof.Index] = x
		found = append(found, Violation{Key: x.key, At: x.by, Until: max(x.by, x.ending.ended), Ops: append(slices.Clone(x.ending.ops), proof.Index), Tokens: []string{x.who.token}, Clients: []string{x.who.client}})
	}
	return &judgement{
		tally: tally{checked: len(judged)}, violations: found, late: true,
		evidence: r.need("attempts that a quorum voted for", judged, moreWork),
		explain:  func(n *narrative) { r.explainUngranted(n, byVote[n.v.Ops[len(n.v.Ops)-1]]) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s that a quorum voted for in time were not granted: the first at %s on %s", share(t.found, t.checked, "attempts"), at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s that a quorum voted for in time, and all were granted", count(t.checked, "attempt", "attempts"))
		},
	}
}

// explainUngranted explains that an attempt with a quorum of votes was not granted.
func (r *run) explainUngranted(n *narrative, x ungranted) {
	v := n.v
	voters := masters(x.yes)
	v.Summary = fmt.Sprintf("%s had the votes of %s for %s by %s, and was not granted it", x.who.client, Enumerate(voters), v.Key, at(x.by))
	for _, a := range r.requests(x.key, x.who) {
		if a.command == history.CommandSet {
			n.request(a, !slices.ContainsFunc(a.votes, func(v history.Vote) bool { return v.Yes }))
		}
	}
	what := "failed"
	if x.ending.err != "" {
		what += ": " + x.ending.err
	}
	if x.again {
		what = "made another attempt instead of using this one"
	}
	n.ended(x.ending, x.ending.err)
	n.violated(fmt.Sprintf("by %s %s had said yes to %s, which is a quorum, and yet its acquire %s",
		at(x.by), Enumerate(voters), x.who.client, what))
}
