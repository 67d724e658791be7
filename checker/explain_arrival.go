package checker

import (
	"fmt"
	"slices"

	"lockpick/history"
)

// pausing is the faults that stopped a client at a pause.
func (r *run) pausing(client string, p pause) []int {
	var ids []int
	for _, f := range r.faults {
		if f.Name == clientPause && f.Installed && p.from < f.To && p.to > f.Began && (len(f.Clients) == 0 || slices.Contains(f.Clients, client)) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// explainDeadArrival explains that an acquire returned a lease that was over.
func (r *run) explainDeadArrival(v *Violation, l *history.Lease) {
	v.Summary = fmt.Sprintf("%s was granted %s at %s, when its lease had been over for %s", l.Process, v.Key, at(v.At), at(v.At-l.Grants[0].Until))
	steps := []reason{{at: l.Invoked, text: fmt.Sprintf("At %s %s asked for %s.", at(l.Invoked), l.Process, l.Key)}}
	for _, p := range r.pauses[l.Process] {
		if p.from >= l.Invoked && p.from <= v.At {
			steps = append(steps, reason{at: p.from, text: fmt.Sprintf("From %s to %s it stood still.", at(p.from), at(p.to)), faults: r.pausing(l.Process, p)})
		}
	}
	steps = append(steps, r.granted(l, v.At)...)
	r.explain(v, steps)
}
