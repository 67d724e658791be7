package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
)

var Fairness = Property{
	Name: "fairness", Level: "AV", Says: "no client that certainly came later is granted the lock before one that waits", Title: "waiters served in order", Votes: true,
	rules: &rules{
		judge:  (*run).fairness,
		exempt: []exemption{needsOtherKeys}, anyToken: true,
		gaps: []gap{
			{func(h *history.Packed) bool { return !h.Header.Fair }, "the lock does not claim it"},
			{func(h *history.Packed) bool { return h.Header.Duplicates }, "a request that arrives twice may cost a waiter its place"},
			{func(h *history.Packed) bool { return h.Header.Quorum != 1 }, "masters that do not know each other have no common queue"},
			{nil, "no client came certainly later than one that waited"},
		},
	},
}

// placeRefusals is how many SETs of an acquire the master must have refused until the acquire certainly
// has a place in the queue: some locks try once before they queue.
const placeRefusals = 2

// minTurns is the number of grants to clients that came certainly later than a waiter that the verdict
// Holds needs.
const minTurns = 3

// waiter is an acquire and the votes on its commands.
type waiter struct {
	facts.Acquire
	sets    []history.Vote // its SETs, in the order in which they were sent
	leave   *history.Vote  // the command by which it gave up its place; nil: there was none
	granted *history.Vote  // the vote by which it was granted; nil: it was not, or that vote is not known
	settled bool           // no command of an earlier acquire of its client can still change the queue
	nested  bool           // its client may hold the key already, and a holder may ask for it again without queueing
}

// overtaking is a grant to an acquire that came certainly later than one that waited.
type overtaking struct {
	first, later *waiter
	next         history.Vote // on the first SET by which the earlier one asked again after the grant
}

// fairness judges one part of AV, for locks with one master that claim it: while an acquire waits in
// the queue, no acquire that was called after it had taken its place, and is not compatible with it, is granted the key. It does not
// judge waiters with a SET that was not answered or was granted, that gave up, or that asked so seldom that the lock
// may count them as dead, nor waits in which the master was disturbed, the harness stood still or a
// client's clock was changed.
func (r *run) fairness() *judgement {
	h := &r.History.Header
	if !h.Fair || h.Duplicates || h.Quorum != 1 {
		return nil
	}
	judged := 0
	var found []proven
	pending := map[string][]*waiter{} // by key, in the order of their calls
	for _, later := range r.waiters() {
		before := slices.DeleteFunc(pending[later.Key], func(w *waiter) bool { return w.Ended <= later.Invoked })
		pending[later.Key] = append(before, later)
		if later.granted == nil || !later.settled || later.nested || !r.InWindow(later.granted.At) {
			continue
		}
		known := false
		for _, first := range before {
			if first.Client == later.Client || first.Weight+later.Weight <= r.Lock.Capacity {
				continue
			}
			x, certain := r.turn(first, later)
			if known = known || certain; x == nil {
				continue
			}
			v := narrative.Violation{Key: later.Key, At: later.granted.At, Until: x.next.At, Ops: slices.Concat(first.Ops, later.Ops, []int{later.granted.Index, x.next.Index}),
				Tokens: []string{later.granted.Token}, Clients: []string{later.Client, first.Client}}
			found = append(found, proven{v, func(n *narrative.Narrative) { r.explainOvertaking(n, x) }})
			break
		}
		if known {
			judged++
		}
	}
	if judged == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: judged}, violations: found, late: true,
		evidence: r.count("grants to clients that came certainly later than a waiter", judged, minTurns, MoreContention),
		violated: firstOf("grants to clients that came certainly later than a waiter", "came before that waiter's"),
		holds:    allOf("%s to a client that came certainly later than a waiter, and none came before that waiter's", "grant went", "grants went"),
	}
}

// turn returns the overtaking of an acquire by a later one that was granted, if it is certain, and
// whether it is certain which of them the lock served first.
func (r *run) turn(first, later *waiter) (x *overtaking, certain bool) {
	if !first.settled || len(first.sets) < placeRefusals || first.sets[placeRefusals-1].At+r.Slack >= later.Invoked {
		return nil, false
	}
	for _, v := range first.sets[:placeRefusals] {
		if !v.Refused() {
			return nil, false
		}
	}
	grant := later.granted
	if first.granted != nil && first.granted.At <= grant.At {
		return nil, true
	}
	asked := facts.Sent(first.sets[0])
	for _, v := range first.sets {
		if facts.Sent(v) > grant.At+r.Slack {
			if grant.At-asked+r.Slack > r.lively() || first.leave != nil && facts.Sent(*first.leave) <= facts.Sent(v) || r.queueDisturbed(first, later) {
				return nil, false
			}
			return &overtaking{first, later, v}, true
		}
		if !v.Refused() || v.Master != grant.Master || v.Stored != grant.Stored || v.At-asked+r.Slack > r.lively() {
			return nil, false
		}
		asked = facts.Sent(v)
	}
	return nil, false
}

// lively returns how often a waiter must ask so that the lock does not count it as dead.
func (r *run) lively() time.Duration { return cmp.Or(r.History.Header.DeadWaiter, history.AskingGap) }

// queueDisturbed reports whether the queue, or the times of the history, may have changed between the call of an
// acquire and the grant of a later one.
func (r *run) queueDisturbed(first, later *waiter) bool {
	from, to, master := first.Invoked-r.Slack, later.granted.At+r.Slack, later.granted.Master
	for _, f := range r.FaultsWithin(from, to) {
		if hits := fault.Of(f.Name).Hits; hits != fault.Links && hits != fault.Clients && slices.Contains(f.Masters, master) {
			return true
		}
	}
	return r.RestartedIn(master, from, to) || r.StalledIn(from, to) || r.ClientClockSkewed(first.Client, from, to) || r.ClientClockSkewed(later.Client, from, to)
}

// waiters returns the acquires of a history in the order of their calls, with the votes on their commands.
func (r *run) waiters() []*waiter {
	type owner struct{ client, key string }
	votes := map[owner][]history.Vote{}
	for i := range r.History.Len() {
		v := r.History.Vote(r.History.InOrder(i))
		votes[owner{v.Client, v.Key}] = append(votes[owner{v.Client, v.Key}], v)
	}
	for _, mine := range votes {
		slices.SortStableFunc(mine, func(a, b history.Vote) int { return cmp.Compare(facts.Sent(a), facts.Sent(b)) })
	}
	calls := map[owner][]*waiter{}
	var all []*waiter
	for _, a := range r.Acquires() {
		w := &waiter{Acquire: a}
		caller := owner{a.Client, a.Key}
		all, calls[caller] = append(all, w), append(calls[caller], w)
	}
	for caller, mine := range calls {
		if r.Lock.Kind != history.Mutex {
			findNested(mine, votes[caller])
		}
		settled := true // what precedes the next acquire
		for i, w := range mine {
			w.settled = settled
			settled = w.OK
			token := ""
			if l := r.LeaseOf(w.Acquire); l != nil {
				token = l.Token
			}
			for rest := votes[caller]; len(rest) > 0 && (i+1 == len(mine) || facts.Sent(rest[0]) < mine[i+1].Invoked); rest = votes[caller] {
				v := rest[0]
				votes[caller] = rest[1:]
				if facts.Sent(v) < w.Invoked { // a command of no acquire
					continue
				}
				settled = settled && !v.Unknown && v.Error == ""
				switch {
				case v.Command == history.CommandLeave && w.leave == nil:
					w.leave = &v
				case v.Command == history.CommandSet:
					w.sets = append(w.sets, v)
					if v.Yes && w.OK && v.Token == token {
						w.granted = &v
					}
				}
			}
		}
	}
	return all
}

// findNested finds the acquires of a client for a key that it may hold already: not each earlier SET that a master granted is known
// to be undone by a release that a master executed. votes are in the order in which they were sent.
func findNested(acquires []*waiter, votes []history.Vote) {
	held, certain, answered := 0, true, time.Duration(-1)
	for _, w := range acquires {
		for ; len(votes) > 0 && facts.Sent(votes[0]) < w.Invoked; votes = votes[1:] {
			v := votes[0]
			certain, answered = certain && !v.Unknown && v.Error == "", max(answered, v.At)
			switch {
			case v.Yes && v.Command == history.CommandSet:
				held++
			case v.Yes && v.Command == history.CommandRelease:
				held--
			}
		}
		w.nested = !certain || answered >= w.Invoked || held > 0
	}
}

// explainOvertaking explains that an acquire was granted before an earlier one that waited.
func (r *run) explainOvertaking(n *narrative.Narrative, x *overtaking) {
	v := n.Violation
	first, later := x.first, x.later
	place := first.sets[placeRefusals-1]
	v.Summary = fmt.Sprintf("%s was granted %s at %s, and %s had waited in the queue since %s, %s before %s asked",
		later.Client, v.Key, narrative.At(v.At), first.Client, narrative.At(place.At), narrative.At(later.Invoked-place.At), later.Client)
	for _, shown := range []history.Vote{place, *later.granted, x.next} {
		n.Request(r.RequestOf(shown), false)
	}
	n.Lease(r.LeaseOf(later.Acquire), v.At)
	n.Violated(fmt.Sprintf("%s came later than %s, which was waiting, and was granted %s before it", later.Client, first.Client, v.Key))
}
