package checker

import (
	"fmt"
	"slices"

	"lockpick/history"
)

// explainDeadArrival explains that an acquire returned a lease that was over.
func (r *run) explainDeadArrival(v *Violation, l *history.Lease) {
	g := l.Grants[0]
	v.Summary = fmt.Sprintf("%s was granted %s at %s, when its lease had been over for %s", l.Process, v.Key, at(v.At), at(v.At-g.Until))
	n := r.narrate(v)
	if line, ok := r.called(g.Index); ok {
		n.add(Event{At: r.h.Op(line).Time, Kind: EventCalled, Client: l.Process, Key: l.Key, Command: history.FAcquire, Until: g.At, Word: "acquire", Ops: []int{line},
			Text: fmt.Sprintf("%s asked for %s", l.Process, l.Key)})
	}
	n.lease(l, v.At)
	stopped := false
	for _, p := range r.pauses[l.Process] {
		if p.from >= l.Invoked && p.from <= v.At {
			stopped = true
			n.paused(l.Process, p, false)
		}
	}
	if !stopped {
		n.slowVotes(l)
	}
	n.violated(fmt.Sprintf("the acquire returned %s after its lease had ended at %s", at(g.At-g.Until), at(g.Until)))
}

// slowVotes adds the faults that delayed the votes by which a lease was granted.
func (n *narrative) slowVotes(l *history.Lease) {
	for _, a := range n.r.granting(l) {
		for _, v := range a.votes {
			for _, f := range n.r.faultsWithin(sent(v), v.At) {
				if f.Installed && disrupts(f) && f.From <= v.At && f.To >= sent(v) && reaches(f, v) {
					n.fault(f, false, nil)
				}
			}
		}
	}
}

// reaches reports whether a fault strikes a vote's master, or its client's link to that master.
func reaches(f *history.Fault, v history.Vote) bool {
	return slices.Contains(f.Masters, v.Master) && (len(f.Clients) == 0 || slices.Contains(f.Clients, v.Client))
}
