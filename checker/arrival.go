package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// arrivalSlack is how long after the end of a lease an acquire may return it yet: a client
// may be stopped for a moment between its last look at the clock and the return.
const arrivalSlack = 10 * time.Millisecond

// deadArrivals judges that no acquire returns a lease that is over. Such a lease holds
// nothing, so it violates no exclusion by itself, and a client that looks at the clock does
// nothing under it. It is judged only where the scenario asks for it.
func (r *run) deadArrivals() *judgement {
	if !slices.Contains(r.h.Header.Properties, DeadOnArrival.Name) || len(r.leases) == 0 {
		return nil
	}
	var found []Violation
	var granted []time.Duration
	byGrant := map[int]*history.Lease{}
	for _, l := range r.leases {
		g := l.Grants[0]
		granted = append(granted, g.At)
		if g.At <= g.Until+max(arrivalSlack, r.slack) {
			continue
		}
		byGrant[g.Index] = l
		found = append(found, Violation{Key: l.Key, At: g.At, Until: g.At, Ops: []int{g.Index}, Tokens: []string{l.Token}, Clients: []string{l.Process}})
	}
	return &judgement{
		checked: len(r.leases), violations: found,
		evidence: r.need("acquisitions", granted, moreWork),
		explain:  func(v *Violation) { r.explainArrival(v, byGrant[v.Ops[0]]) },
		violated: func(first *Violation) string {
			return fmt.Sprintf("%s were over when the acquire returned: the first at %s on %s", share(len(found), len(r.leases), "leases"), at(first.At), first.Key)
		},
		holds: fmt.Sprintf("%s when the acquire returned", count(len(r.leases), "lease was valid", "leases were valid")),
	}
}

func (r *run) explainArrival(v *Violation, l *history.Lease) {
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
