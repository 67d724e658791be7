package checker

import (
	"fmt"
	"time"

	"lockpick/checker/narrative"
	"lockpick/history"
)

// arrivalSlack is the tolerance for an acquire that returns a lease after its end: a client may
// be stopped for a moment after it last read the clock and before it returns.
const arrivalSlack = 10 * time.Millisecond

var DeadOnArrival = Property{
	Name: "dead-on-arrival", Level: "L2", Says: "no acquire returns a lease that is over", Title: "no expired lease from acquire",
	Leases: true, OnlyNamed: true, ToleratesStalls: true, Contended: true,
	rules: &rules{judge: (*run).deadArrivals, gaps: []gap{{nil, "it is not known for how long a lease is valid: the client does not say it, and no vote shows when an attempt began"}}},
}

// deadArrivals judges that no acquire returns a lease that is over. Such a lease holds nothing,
// so it does not violate exclusion by itself, and a client that checks the clock does nothing
// under it. The property is judged only if the scenario names it.
func (r *run) deadArrivals() *judgement {
	var found []proven
	var granted []time.Duration
	for _, l := range r.Leases {
		g := l.Grants[0]
		if !r.InWindow(g.At) || l.AtLeast {
			continue
		}
		granted = append(granted, g.At)
		if g.At <= g.Until+max(arrivalSlack, r.Slack) {
			continue
		}
		found = append(found, proven{onLeases(g.At, g.At, []int{g.Index}, l), func(n *narrative.Narrative) { r.explainDeadArrival(n, l) }})
	}
	if len(granted) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: len(granted)}, violations: found,
		evidence: r.need("acquisitions", granted, MoreWork),
		violated: firstOf("leases", "were over when the acquire returned"),
		holds:    allOf("%s when the acquire returned", "lease was valid", "leases were valid"),
	}
}

// explainDeadArrival explains that an acquire returned a lease that was over.
func (r *run) explainDeadArrival(n *narrative.Narrative, l *history.Lease) {
	v := n.Violation
	g := l.Grants[0]
	v.Summary = fmt.Sprintf("%s was granted %s at %s, when its lease had been over for %s", l.Process, v.Key, narrative.At(v.At), narrative.At(v.At-g.Until))
	if line, ok := r.CallOf(g.Index); ok {
		n.Add(narrative.Event{At: r.History.Op(line).Time, Kind: narrative.EventCalled, Client: l.Process, Key: l.Key, Command: history.FAcquire, Until: g.At, Word: "acquire", Ops: []int{line},
			Text: fmt.Sprintf("%s asked for %s", l.Process, l.Key)})
	}
	n.Lease(l, v.At)
	stopped := false
	for _, p := range r.Pauses[l.Process] {
		if p.From >= l.Invoked && p.From <= v.At {
			stopped = true
			n.Paused(l.Process, p, false)
		}
	}
	if !stopped {
		n.SlowVotes(l)
	}
	n.Violated(fmt.Sprintf("the acquire returned %s after its lease had ended at %s", narrative.At(g.At-g.Until), narrative.At(g.Until)))
}
