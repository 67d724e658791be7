package checker

import (
	"fmt"
	"slices"

	"lockpick/history"
)

// fenceSteps says by whose votes two leases got tokens that do not grow.
func (r *run) fenceSteps(p fencePair) []reason {
	a, b := p.earlier, p.later
	steps := append(r.granted(a, 0), r.granted(b, 0)...)
	steps = append(steps, r.restarts(a, b)...)
	var both []string
	for _, m := range r.voters(a) {
		if slices.Contains(r.voters(b), m) {
			both = append(both, m)
		}
	}
	if len(both) > 0 {
		steps = append(steps, reason{at: b.Acquired(), text: fmt.Sprintf("Of the masters that gave out the earlier token only %s voted again.", Enumerate(both))})
	}
	return append(steps, reason{at: b.Acquired(), text: fmt.Sprintf("The later lease has the token %d, the earlier one has %d.", b.Fence, a.Fence)})
}

// restarts names the restarts, between two grants, of masters that had voted for
// the earlier: what they counted may be lost with them.
func (r *run) restarts(a, b *history.Lease) []reason {
	steps := r.causes(r.voters(a), func(m string) cause {
		c, _ := r.restarted(m, a.Key, "", a.Invoked, b.Acquired())
		return c
	})
	if len(steps) == 0 {
		steps = append(steps, reason{at: b.Acquired(), text: "No recorded restart of a master explains it."})
	}
	return steps
}

// explainFence explains that the fencing tokens of two leases do not grow.
func (r *run) explainFence(v *Violation, p fencePair) {
	v.Summary = fmt.Sprintf("%s was granted %s at %s with the fencing token %d, after %s had been with %d",
		other(p.later.Process, p.earlier.Process), v.Key, at(v.At), p.later.Fence, p.earlier.Process, p.earlier.Fence)
	r.explain(v, r.fenceSteps(p))
}
