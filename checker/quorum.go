package checker

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history/fault"
	"lockpick/internal/plural"
)

var Quorum = Property{
	Name: "quorum", Level: "L1", Says: "an acquire returns a lease only with the yes answers of a quorum of masters",
	Votes: true, Counts: true, Leads: true, ToleratesStalls: true, Reported: true,
	rules: &rules{judge: (*run).quorumOfYes, gaps: []gap{{nil, "no lease was granted by recorded votes while the harness kept up"}}},
}

// quorumOfYes judges one part of L1: when an acquire returns ok, the yes answers of a
// quorum of masters have arrived ("if and only if the client was able to acquire the lock in
// the majority of the instances", distlock, step 3). A lock cannot count an answer that it
// has not received, even if the master executed the command.
func (r *run) quorumOfYes() *judgement {
	q := r.Quorum()
	if q == 0 {
		return nil
	}
	var judged []time.Duration
	var found []proven
	for _, l := range r.Leases {
		b, known := r.BackingOf(l, 0)
		if !known || !r.InWindow(b.Grant.At) {
			continue
		}
		g := b.Grant
		judged = append(judged, g.At)
		if b.Enough() {
			continue
		}
		found = append(found, proven{onLeases(g.At, max(g.At, g.Until), []int{g.Index}, l), func(n *narrative.Narrative) { r.explainUnbacked(n, b) }})
	}
	if len(judged) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: len(judged)}, violations: found, needsSlack: true,
		evidence: r.need("acquisitions with recorded votes", judged, MoreWork),
		violated: firstOf("leases", "were granted without the yes of "+plural.Count(q, "master", "masters")),
		holds: func(t tally) string {
			return fmt.Sprintf("%s on the yes of at least %s", plural.Count(t.checked, "lease rested", "leases rested"), plural.Count(q, "master", "masters"))
		},
	}
}

// explainUnbacked explains that an acquire returned a lease without the yes of a quorum.
func (r *run) explainUnbacked(n *narrative.Narrative, b facts.Backing) {
	v := n.Violation
	l := b.Lease
	v.Summary = fmt.Sprintf("%s was granted %s at %s with the yes of %s, and a quorum needs %d", l.Process, v.Key, narrative.At(v.At), plural.Count(len(b.Yes), "master", "masters"), r.Quorum())
	n.Lease(l, b.Grant.At)
	n.AnswersSince(b)
	n.Violated(fmt.Sprintf("when the acquire returned, %s had said yes, and a quorum needs %d", fault.Enumerate(b.Yes), r.Quorum()))
}
