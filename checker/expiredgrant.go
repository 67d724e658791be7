package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// arrivalSlack is the tolerance for an acquire that returns a lease after its end: a client may
// be stopped for a moment after it last read the clock and before it returns.
const arrivalSlack = 10 * time.Millisecond

// deadArrivals judges that no acquire returns a lease that is over. Such a lease holds nothing,
// so it does not violate exclusion by itself, and a client that checks the clock does nothing
// under it. The property is judged only if the scenario names it.
func (r *run) deadArrivals() *judgement {
	if !slices.Contains(r.h.Header.Properties, DeadOnArrival.Name) || len(r.leases) == 0 {
		return nil
	}
	var found []Violation
	var granted []time.Duration
	byGrant := map[int]*history.Lease{}
	for _, l := range r.leases {
		g := l.Grants[0]
		if !r.counts(g.At) {
			continue
		}
		granted = append(granted, g.At)
		if g.At <= g.Until+max(arrivalSlack, r.slack) {
			continue
		}
		byGrant[g.Index] = l
		found = append(found, Violation{Key: l.Key, At: g.At, Until: g.At, Ops: []int{g.Index}, Tokens: []string{l.Token}, Clients: []string{l.Process}})
	}
	return &judgement{
		tally: tally{checked: len(granted)}, violations: found,
		evidence: r.need("acquisitions", granted, moreWork),
		explain:  func(v *Violation) { r.explainDeadArrival(v, byGrant[v.Ops[0]]) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s were over when the acquire returned: the first at %s on %s", share(t.found, t.checked, "leases"), at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s when the acquire returned", count(t.checked, "lease was valid", "leases were valid"))
		},
	}
}
