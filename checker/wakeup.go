package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/plural"
)

var WakeUp = Property{
	Name: "wake-up", Level: "AV", Says: "while nothing is wrong and nobody holds the lock, some waiting client soon asks for it again", Title: "waiters wake up", Votes: true,
	rules: &rules{
		judge:  (*run).wakeUp,
		exempt: []exemption{needsOtherKeys},
		gaps: []gap{
			{func(h *history.Packed) bool { return h.Header.Retry <= 0 }, "the lock states no longest wait between two attempts"},
			{nil, "nobody had to wait while nothing was wrong"},
		},
	},
}

// wakeUp judges one part of AV: in a wait of Progress, waiting clients send SETs at least as often as the lock states.
// Between two calls of one client there may be AskingGap more, and a release and what it wakes are on their way for as long
// as the slowest command of the run.
func (r *run) wakeUp() *judgement {
	h := &r.History.Header
	if h.Retry <= 0 {
		return nil
	}
	bound := h.Retry + history.AskingGap + 2*r.History.LongestTook() + r.Slack
	asks := map[string]facts.Votes{} // by key: the SETs
	seen := map[string]bool{}        // clients
	for i := range r.History.Len() {
		id := r.History.InOrder(i)
		if k := r.History.Kind(id); k.Command == history.CommandSet {
			asks[k.Key] = facts.Votes{History: r.History, IDs: append(asks[k.Key].IDs, id)}
			seen[k.Client] = true
		}
	}
	judged, longest := 0, time.Duration(0)
	var found []proven
	for _, d := range r.quietWaits() {
		d.To = min(d.To, r.Window.To-1)
		waiting := r.AcquiresWithin(d.Key, d.From, d.To)
		if d.To <= d.From || !r.InWindow(d.To) || slices.ContainsFunc(waiting, func(a facts.Acquire) bool { return !seen[a.Client] }) {
			continue
		}
		if d.Granted != nil {
			judged++
		}
		last := d.From // when the latest reply was there
		silent := func(to time.Duration) {
			if longest = max(longest, to-last); to-last > bound {
				found = append(found, r.missed(d.Key, last, to, waiting))
			}
		}
		for v := range asks[d.Key].InFlight(d.From, d.To-1) {
			silent(facts.Sent(v))
			last = max(last, v.At)
		}
		silent(d.To)
	}
	if judged = max(judged, len(found)); judged == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: judged}, violations: found, late: true,
		evidence: r.count("leases granted while nothing was wrong and nobody held the lock", judged, minWaits, MoreWork),
		violated: func(t tally, first *narrative.Violation) string {
			return fmt.Sprintf("clients waited for a key that nobody held, and sent nothing for longer than the %s that the lock states, %s: the first for %s, from %s on %s",
				narrative.At(h.Retry), plural.Count(t.found, "time", "times"), narrative.At(first.Until-first.At), narrative.At(first.At), first.Key)
		},
		holds: func(tally) string {
			return fmt.Sprintf("while nobody held the lock, waiting clients sent nothing for at most %s of the %s allowed", narrative.At(longest), narrative.At(bound))
		},
	}
}

// missed returns the violation that nobody asked for a key in a span although it was free.
func (r *run) missed(key string, from, to time.Duration, waiting []facts.Acquire) proven {
	v := narrative.Violation{Key: key, At: from, Until: to}
	for _, a := range waiting {
		v.Ops, v.Clients = append(v.Ops, a.Ops...), append(v.Clients, a.Client)
	}
	slices.Sort(v.Ops)
	v.Clients = facts.Distinct(v.Clients)
	return proven{v, func(n *narrative.Narrative) {
		v := n.Violation
		v.Summary = fmt.Sprintf("nobody held %s from %s to %s, and nobody asked for it for %s, though %s waited for it", key, narrative.At(from), narrative.At(to), narrative.At(to-from), fault.Enumerate(v.Clients))
		if l := r.LastLease(key, from+1); l != nil {
			n.Lease(l, from)
		}
		n.Stuck(v.Clients, from, to, waiting)
		n.Violated(v.Summary)
	}}
}
