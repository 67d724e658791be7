package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
)

// ungranted is an attempt that was not granted although a quorum voted for it.
type ungranted struct {
	who    facts.Party
	key    string
	yes    []history.Vote
	by     time.Duration // when the quorum's votes had arrived
	ending facts.Acquire // the acquire that it belongs to
	again  bool          // that acquire made another attempt
}

var QuorumGranted = Property{
	Name: "quorum-granted", Level: "AV", Says: "an attempt that a quorum voted for in time is granted", Votes: true,
	rules: &rules{
		judge:  (*run).quorumGranted,
		exempt: []exemption{needsOtherKeys},
		gaps:   []gap{{func(h *history.Packed) bool { return h.Header.Fencing }, "a lease with a fencing token needs more than a quorum's votes"}, {nil, "no vote on an attempt was recorded"}},
	},
}

// quorumGranted judges one part of AV: an attempt is granted if a quorum of masters voted for it
// within half the TTL. It does not judge acquires that may have been cancelled at that moment (the
// last acquire of a client before the healing, and any acquire that had lasted for three TTLs),
// clients that stood still, crashed or whose clock was changed, and locks with fencing tokens,
// which need more than the votes.
func (r *run) quorumGranted() *judgement {
	q, ttl := r.Quorum(), r.History.Header.TTL
	if q == 0 || ttl <= 0 || r.History.Header.Fencing {
		return nil
	}
	healing := r.Healed()
	var judged []time.Duration
	var found []proven
	for s := range r.Attempts() {
		first := s.Votes.At(0)
		who := facts.Party{Client: first.Client, Token: first.Token}
		x := ungranted{who: who, key: first.Key}
		yes := 0
		for i := range s.Votes.IDs {
			if s.Votes.Kind(i).Yes {
				yes++
			}
		}
		if yes < q {
			continue
		}
		for v := range s.Votes.All() {
			if v.Yes {
				x.yes = append(x.yes, v)
			}
		}
		slices.SortFunc(x.yes, facts.ByArrival)
		x.by = x.yes[q-1].At
		if !r.InWindow(x.by) {
			continue
		}
		mine, i := r.AcquiresOf(who.Client, first.Key, s.Began)
		if i < 0 {
			continue
		}
		x.ending = mine[i]
		if l := r.LeaseOf(x.ending); l != nil && l.Token == who.Token && l.Key == first.Key {
			judged = append(judged, x.by)
			continue
		}
		if x.by-s.Began > ttl/2 {
			continue
		}
		x.again = s.Next != 0 && s.Next <= x.ending.Ended && s.Next > x.by
		cancelled := x.ending.Ended-x.ending.Invoked >= 3*ttl || i+1 == len(mine) || healing.Problem == "" && x.ending.Invoked < healing.At && mine[i+1].Invoked >= healing.At
		end := x.ending.Ended
		switch {
		case x.ending.Open, x.ending.Key != first.Key, x.ending.Ended < x.by, x.ending.Ended >= r.Interrupted.At, !x.again && (cancelled || x.ending.OK):
		case r.PausedIn(who.Client, s.Began, end), r.CrashedIn(who.Client, s.Began, end), r.StalledIn(s.Began-r.Slack, x.by+r.Slack), r.ClientClockSkewed(who.Client, s.Began, end):
		default:
			judged = append(judged, x.by)
			found = append(found, proven{narrative.Violation{Key: x.key, At: x.by, Until: max(x.by, end), Ops: append(slices.Clone(x.ending.Ops), x.yes[q-1].Index),
				Tokens: []string{who.Token}, Clients: []string{who.Client}}, func(n *narrative.Narrative) { r.explainUngranted(n, x) }})
		}
	}
	if len(judged) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: len(judged)}, violations: found, late: true,
		evidence: r.need("attempts that a quorum voted for", judged, MoreWork),
		violated: firstOf("attempts", "that a quorum voted for in time were not granted"),
		holds:    allOf("%s that a quorum voted for in time, and all were granted", "attempt", "attempts"),
	}
}

// explainUngranted explains that an attempt with a quorum of votes was not granted.
func (r *run) explainUngranted(n *narrative.Narrative, x ungranted) {
	v := n.Violation
	voters := facts.MastersOf(x.yes)
	v.Summary = fmt.Sprintf("%s had the votes of %s for %s by %s, and was not granted it", x.who.Client, fault.Enumerate(voters), v.Key, narrative.At(x.by))
	for _, a := range r.Requests(x.key, x.who) {
		if a.Command == history.CommandSet {
			n.Request(a, !slices.ContainsFunc(a.Votes, func(v history.Vote) bool { return v.Yes }))
		}
	}
	what := "failed"
	if x.ending.Err != "" {
		what += ": " + x.ending.Err
	}
	if x.again {
		what = "made another attempt instead of using this one"
	}
	n.AcquireEnded(x.ending, x.ending.Err)
	n.Violated(fmt.Sprintf("by %s %s had said yes to %s, which is a quorum, and yet its acquire %s",
		narrative.At(x.by), fault.Enumerate(voters), x.who.Client, what))
}
