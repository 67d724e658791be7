package checker

import (
	"fmt"
	"slices"
	"sort"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
)

// fencePair is two leases in the order of their grants. The later one does not have the higher
// fencing token.
type fencePair struct {
	earlier, later *history.Lease
}

var FencingMonotone = Property{
	Name: "fencing-monotone", Level: "FM", Says: "a later lease has a higher fencing token", Helps: GiveFences,
	Leads: true, Leases: true, Needs: FencingTokens, ToleratesStalls: true,
	rules: &rules{judge: (*run).fencingMonotone, gaps: []gap{noFencing, {nil, "no lease had a fencing token"}}, exempt: []exemption{ordersNoWrites, sharesHolds}},
}

// fencingMonotone judges FM: an acquire that began after another had returned gets a higher
// fencing token. It also compares leases whose holds overlap, since there fencing tokens matter.
func (r *run) fencingMonotone() *judgement {
	if !r.History.Header.Fencing {
		return nil
	}
	pairs, judged, without := r.decreasing()
	if judged == 0 && without > 0 {
		return nil
	}
	var found []proven
	for _, p := range pairs {
		found = append(found, proven{onLeases(p.later.Acquired(), p.later.Acquired(), []int{p.earlier.Grants[0].Index, p.later.Grants[0].Index}, p.earlier, p.later), func(n *narrative.Narrative) { r.explainFence(n, p) }})
	}
	return &judgement{
		tally: tally{checked: judged}, violations: found, note: noteOn(without, "%s no fencing token", "lease had", "leases had"),
		evidence: r.need("contended acquisitions with a fencing token", r.ContendedGrants(func(l *history.Lease) bool { return l.Fence != 0 && l.Mode != history.ModeRead }), MoreContention),
		violated: firstOf("leases", "had a fencing token no higher than that of an earlier one"),
		holds:    allOf("the fencing tokens of %s grew in the order in which they were granted", "lease", "leases"),
	}
}

// decreasing compares the fencing token of each lease with the highest token of all leases that
// are certain to be earlier. It returns the pairs that violate FM, the number of leases judged and
// the number of leases without a token. It takes O(n log n) time.
func (r *run) decreasing() (pairs []fencePair, judged, without int) {
	byKey := map[string][]*history.Lease{} // in the order of the grants
	var keys []string
	for _, l := range r.Leases {
		if l.Mode == history.ModeRead { // it writes nothing
			continue
		}
		if l.Fence == 0 && r.InWindow(l.Acquired()) {
			without++
		}
		if l.Fence == 0 {
			continue
		}
		if byKey[l.Key] == nil {
			keys = append(keys, l.Key)
		}
		byKey[l.Key] = append(byKey[l.Key], l)
		if r.InWindow(l.Acquired()) {
			judged++
		}
	}
	for _, key := range keys {
		granted := byKey[key]
		highest := make([]*history.Lease, len(granted)) // the lease with the highest token among those granted up to this one
		for i, l := range granted {
			highest[i] = l
			if i > 0 && highest[i-1].Fence >= l.Fence {
				highest[i] = highest[i-1]
			}
		}
		for _, l := range granted {
			if !r.InWindow(l.Acquired()) {
				continue
			}
			// after is monotone: if l is after granted[i], it is after all leases granted before
			// that one.
			n := sort.Search(len(granted), func(i int) bool { return !r.After(l, granted[i]) })
			if n > 0 && highest[n-1].Fence >= l.Fence {
				pairs = append(pairs, fencePair{highest[n-1], l})
			}
		}
	}
	return pairs, judged, without
}

// explainFence explains that the later of two leases does not have the higher fencing token: which
// masters issued the tokens, and which of these were restarted in between.
func (r *run) explainFence(n *narrative.Narrative, p fencePair) {
	v := n.Violation
	a, b := p.earlier, p.later
	v.Summary = fmt.Sprintf("%s was granted %s at %s with the fencing token %d, after %s had been with %d",
		narrative.Again(b.Process, a.Process), v.Key, narrative.At(v.At), b.Fence, a.Process, a.Fence)
	n.Lease(a, 0)
	n.Lease(b, 0)
	n.Elections(a, b.Acquired())
	both := slices.DeleteFunc(slices.Clone(r.Voters(a)), func(m string) bool { return !slices.Contains(r.Voters(b), m) })
	restarted := n.CountersLost(a, b)
	counted := r.counted(a, both)
	switch {
	case len(both) == 0 && r.VoteIndex().Voted(a) && r.VoteIndex().Voted(b):
		n.Note(b.Acquired(), "no master voted for both leases, so no counter links their fencing tokens")
	case len(both) > 0 && len(counted) == 0 && len(r.counted(a, r.Voters(a))) > 0:
		restarted = true
		n.Note(b.Acquired(), fmt.Sprintf("the earlier token is the counter of %s, and of the masters that counted for the earlier lease only %s voted for the later one",
			fault.Enumerate(r.counted(a, r.Voters(a))), fault.Enumerate(both)))
	case len(both) > 0:
		n.Note(b.Acquired(), fmt.Sprintf("of the masters that gave out the earlier token only %s voted for the later lease", fault.Enumerate(both)))
	}
	if !restarted && len(both) > 0 {
		n.Unexplained(narrative.Event{At: b.Acquired(), Masters: both, Text: fmt.Sprintf("no recorded restart explains why the counters of %s did not grow", fault.Enumerate(both))})
	}
	n.Violated(fmt.Sprintf("the later lease has the fencing token %d, the earlier one has %d", b.Fence, a.Fence))
}

// counted returns the masters among the given ones whose vote for a lease carried its fencing token.
func (r *run) counted(l *history.Lease, masters []string) []string {
	var found []string
	for v := range r.VoteIndex().OnLease(l) {
		if v.Yes && v.Command == history.CommandSet && r.History.FenceOf(v.Index) == l.Fence && slices.Contains(masters, v.Master) {
			found = append(found, v.Master)
		}
	}
	return facts.Distinct(found)
}
