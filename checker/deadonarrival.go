package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// arrivalSlack is the tolerance for an acquire that returns a lease after its end: a client may
// be stopped for a moment after it last read the clock and before it returns.
const arrivalSlack = 10 * time.Millisecond

var DeadOnArrival = Property{
	Name: "dead-on-arrival", Level: "L2",
	Says:   "no acquire returns a lease that is over",
	Title:  "no expired lease from acquire",
	Leases: true, OnlyNamed: true, ToleratesStalls: true,
	rules: &rules{judge: (*judging).deadArrivals},
}

// deadArrivals judges that no acquire returns a lease that is over. Such a lease holds nothing,
// so it does not violate exclusion by itself, and a client that checks the clock does nothing
// under it. The property is judged only if the scenario names it.
func (r *judging) deadArrivals() *judgement {
	if len(r.Leases) == 0 {
		return nil
	}
	var found []Violation
	var granted []time.Duration
	byGrant := map[int]*history.Lease{}
	for _, l := range r.Leases {
		g := l.Grants[0]
		if !r.InWindow(g.At) {
			continue
		}
		granted = append(granted, g.At)
		if g.At <= g.Until+max(arrivalSlack, r.Slack) {
			continue
		}
		byGrant[g.Index] = l
		found = append(found, Violation{Key: l.Key, At: g.At, Until: g.At, Ops: []int{g.Index}, Tokens: []string{l.Token}, Clients: []string{l.Process}})
	}
	return &judgement{
		tally: tally{checked: len(granted)}, violations: found,
		evidence: r.need("acquisitions", granted, moreWork),
		explain:  func(n *narrative) { r.explainDeadArrival(n, byGrant[n.v.Ops[0]]) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s were over when the acquire returned: the first at %s on %s", share(t.found, t.checked, "leases"), at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s when the acquire returned", count(t.checked, "lease was valid", "leases were valid"))
		},
	}
}

// explainDeadArrival explains that an acquire returned a lease that was over.
func (r *judging) explainDeadArrival(n *narrative, l *history.Lease) {
	v := n.v
	g := l.Grants[0]
	v.Summary = fmt.Sprintf("%s was granted %s at %s, when its lease had been over for %s", l.Process, v.Key, at(v.At), at(v.At-g.Until))
	if line, ok := r.CallOf(g.Index); ok {
		n.add(Event{At: r.History.Op(line).Time, Kind: EventCalled, Client: l.Process, Key: l.Key, Command: history.FAcquire, Until: g.At, Word: "acquire", Ops: []int{line},
			Text: fmt.Sprintf("%s asked for %s", l.Process, l.Key)})
	}
	n.lease(l, v.At)
	stopped := false
	for _, p := range r.Pauses[l.Process] {
		if p.From >= l.Invoked && p.From <= v.At {
			stopped = true
			n.paused(l.Process, p, false)
		}
	}
	if !stopped {
		n.slowVotes(l)
	}
	n.violated(fmt.Sprintf("the acquire returned %s after its lease had ended at %s", at(g.At-g.Until), at(g.Until)))
}
