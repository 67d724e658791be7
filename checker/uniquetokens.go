package checker

import (
	"fmt"
	"time"

	"lockpick/checker/narrative"
	"lockpick/history"
)

var UniqueTokens = Property{
	Name: "unique-tokens", Level: "L1", Says: "one token belongs to one acquisition", ToleratesStalls: true,
	rules: &rules{judge: (*run).uniqueTokens, exempt: []exemption{sharesHolds}},
}

// uniqueTokens judges one part of L1: one token belongs to one acquisition. If two acquisitions
// share a token, each client can release or extend the key of the other, so sharing alone is a
// violation. Every other property distinguishes acquisitions by their grants.
func (r *run) uniqueTokens() *judgement {
	if len(r.Leases) == 0 {
		return nil
	}
	type name struct{ key, token string }
	first := map[name]*history.Lease{}
	var granted []time.Duration
	var found []proven
	for _, l := range r.Leases {
		if r.InWindow(l.Acquired()) {
			granted = append(granted, l.Acquired())
		}
		before := first[name{l.Key, l.Token}]
		if before == nil {
			first[name{l.Key, l.Token}] = l
			continue
		}
		if !r.InWindow(l.Acquired()) {
			continue
		}
		found = append(found, proven{narrative.Violation{Key: l.Key, At: l.Acquired(), Until: l.Acquired(), Ops: []int{before.Grants[0].Index, l.Grants[0].Index},
			Tokens: []string{l.Token}, Clients: []string{before.Process, l.Process}}, func(n *narrative.Narrative) { r.explainReuse(n, before, l) }})
	}
	return &judgement{
		tally: tally{checked: len(granted)}, violations: found,
		evidence: r.need("acquisitions", granted, MoreWork),
		violated: firstOf("acquisitions", "carried a token that an earlier one had carried"),
		holds:    allOf("the tokens of %s were all different", "acquisition", "acquisitions"),
	}
}

// explainReuse explains that two acquisitions have one token.
func (r *run) explainReuse(n *narrative.Narrative, a, b *history.Lease) {
	v := n.Violation
	v.Summary = fmt.Sprintf("%s was granted %s at %s with the token %s, which %s had been granted at %s",
		b.Process, v.Key, narrative.At(v.At), v.Tokens[0], narrative.Again(a.Process, b.Process), narrative.At(a.Acquired()))
	n.Lease(a, 0)
	n.Lease(b, 0)
	n.Violated(fmt.Sprintf("both acquisitions had the token %s", v.Tokens[0]))
}
