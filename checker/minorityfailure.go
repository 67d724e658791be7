package checker

import "lockpick/history"

var MinorityFailure = Property{
	Name: "minority-failure", Level: "AV",
	Says: "while only a minority of masters fails, a client that asks is granted the lock within a bound",
	Help: "--faults pause --targets minority",
	rules: &rules{
		judge: (*run).minorityFailure,
		gaps:  []gap{{nil, "no lease was granted while a minority of masters failed"}},
	},
}

// minorityFailure judges one part of AV: while so few masters are down, hung or cut off that
// the others are a quorum, the lock is granted to some waiting client within a bound.
func (r *run) minorityFailure() *judgement {
	of := r.reaches
	judged := 0
	for _, l := range r.leases {
		if !deadOnArrival(l) && r.counts(l.Acquired()) && touches(of(l.Process).minor, l.Acquired(), l.Acquired()) {
			judged++
		}
	}
	asked := map[string][]history.Span{} // by key: when a client tried that could reach a quorum but not all masters
	for _, a := range r.attempts() {
		mine := []history.Span{{From: a.invoked, To: a.ended}}
		if minor := of(a.client).minor; touches(minor, a.invoked, a.ended) {
			asked[a.key] = append(asked[a.key], without(mine, cut(mine, minor))...)
		}
	}
	for key, spans := range asked {
		asked[key] = union(spans, 0)
	}
	var mine []starvation
	for _, d := range r.starvations() {
		// A failure that ended when the wait began did not delay the client.
		if how, _ := r.lostHolder(d); how == "" && touches(asked[d.key], d.from+1, d.to-1) {
			mine = append(mine, d)
		}
	}
	h := &r.h.Header
	return r.judgeWaits(mine, Patience(h.Clients, h.Keys, h.TTL), nothing, judged, "while only a minority of masters failed", (*narrative).failing)
}

// failing adds the faults on masters during a wait.
func (n *narrative) failing(d starvation) {
	for _, f := range n.r.faults {
		if disrupts(f) && overlaps(f.Began, f.To, d.from, d.to) {
			n.fault(f, false, nil)
		}
	}
}
