package checker

import (
	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
)

var MinorityFailure = Property{
	Name: "minority-failure", Level: "AV", Says: "while only a minority of masters fails, a client that asks is granted the lock within a bound",
	Helps: FailMinorities, Counts: true,
	rules: &rules{judge: (*run).minorityFailure, gaps: []gap{{nil, "no lease was granted while a minority of masters failed"}}},
}

// minorityFailure judges one part of AV: while so few masters are down, hung or cut off that
// the others are a quorum, the lock is granted to some waiting client within a bound.
func (r *run) minorityFailure() *judgement {
	reachOf := r.ReachOf
	judged := 0
	for _, l := range r.Leases {
		if !facts.ExpiredOnArrival(l) && r.InWindow(l.Acquired()) && facts.Touches(reachOf(l.Process).Minority, l.Acquired(), l.Acquired()) {
			judged++
		}
	}
	asked := map[string][]history.Span{} // by key: when a client tried that could reach a quorum but not all masters
	for _, a := range r.Acquires() {
		mine := []history.Span{{From: a.Invoked, To: a.Ended}}
		if minor := reachOf(a.Client).Minority; facts.Touches(minor, a.Invoked, a.Ended) {
			asked[a.Key] = append(asked[a.Key], facts.Without(mine, facts.Cut(mine, minor))...)
		}
	}
	for key, spans := range asked {
		asked[key] = facts.Union(spans, 0)
	}
	var mine []facts.Wait
	for _, d := range r.Waits() {
		// A failure that ended when the wait began did not delay the client.
		if lost, _ := r.LostHolder(d); !lost && facts.Touches(asked[d.Key], d.From+1, d.To-1) {
			mine = append(mine, d)
		}
	}
	h := &r.History.Header
	return r.judgeWaits(mine, Patience(h.Clients, h.Keys, h.TTL)+h.Settle, nothing, judged, "while only a minority of masters failed", r.explainFailing)
}

// explainFailing adds the faults on masters during a wait.
func (r *run) explainFailing(n *narrative.Narrative, d facts.Wait) {
	for _, f := range r.Faults {
		if facts.Disrupts(f) && facts.Overlap(f.Began, f.To, d.From, d.To) {
			n.Fault(f, false, nil)
		}
	}
}
