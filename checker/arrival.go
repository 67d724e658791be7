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
func (r *run) deadArrivals() *Result {
	if !slices.Contains(r.h.Header.Properties, DeadOnArrival.Name) || len(r.leases) == 0 {
		return nil
	}
	var found []Violation
	byGrant := map[int]*history.Lease{}
	for _, l := range r.leases {
		g := l.Grants[0]
		if g.At <= g.Until+arrivalSlack {
			continue
		}
		byGrant[g.Index] = l
		found = append(found, Violation{Key: l.Key, At: g.At, Until: g.At, Ops: []int{g.Index}, Tokens: []string{l.Token}, Clients: []string{l.Process}})
	}
	res := result(DeadOnArrival, len(r.leases), found, func(v *Violation) { r.explainDeadArrival(v, byGrant[v.Ops[0]]) })
	if len(found) > 0 {
		res.Why = fmt.Sprintf("%s were over when the acquire returned: the first at %s on %s", share(len(found), len(r.leases), "leases"), at(found[0].At), res.Key)
		return res
	}
	res.Why = fmt.Sprintf("%s when the acquire returned", count(len(r.leases), "lease was valid", "leases were valid")) + r.tried()
	r.requireEvidence(res)
	return res
}
