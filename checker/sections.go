package checker

import (
	"fmt"
	"time"
)

var BeliefExclusion = Property{
	Name: "belief-exclusion", Level: "L3",
	Says:  "critical sections on one key are disjoint",
	Title: "one client at a time in the critical section",
	Leads: true, Exclusive: true,
	rules: &rules{
		judge: (*run).beliefExclusion,
		gaps:  []gap{nobodyEntered},
	},
}

// beliefExclusion judges L3: no two critical sections on one key overlap. If a section outlasts its
// lease only because the machine stood still, it counts to the end of the lease.
func (r *run) beliefExclusion() *judgement {
	all := sections(r.h.Ops, r.leaseAt)
	if len(all) == 0 {
		return nil
	}
	return r.beliefsIn(all)
}

func (r *run) beliefsIn(all []stretch) *judgement {
	competed := r.contended()
	var contended []time.Duration
	judged := 0
	for _, s := range all {
		if !r.counts(s.from) {
			continue
		}
		judged++
		if s.lease != nil && competed[s.lease] {
			contended = append(contended, s.from)
		}
	}
	before := map[int]time.Duration{} // the recorded ends of sections that were left late because the machine stood still
	for i := range all {
		s := &all[i]
		s.weight = r.law.of(s.lease)
		if s.lease == nil {
			continue
		}
		if over, late := r.excusedLate(s.lease, s.to); late {
			before[i], s.to = s.to, max(s.from, over)
		}
	}
	overlaps := sweep(all, r.law)
	for i, to := range before {
		all[i].to = to
	}
	found := make([]Violation, 0, len(overlaps))
	byEnter := map[int]overlap{}
	for _, o := range overlaps {
		if !r.counts(o.from()) {
			continue
		}
		found = append(found, violation(o))
		byEnter[o.later.ops[0]] = o
	}
	return &judgement{
		tally: tally{checked: judged}, violations: found,
		evidence: r.need("critical sections that were contended", contended, moreContention),
		explain:  func(n *narrative) { r.explainSections(n, byEnter[n.v.Ops[len(n.v.Ops)-1]]) },
		violated: func(t tally, first *Violation) string {
			began := "began while another client was still in one"
			if !r.law.alone() {
				began = "began while others that had not ended left no room for it"
			}
			return fmt.Sprintf("%s %s: the first at %s on %s", share(t.found, t.checked, "critical sections"), began, at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return r.law.compatible(count(t.checked, "critical section", "critical sections"))
		},
	}
}

// explainSections explains that two critical sections overlap: one lasted longer than its
// lease, or two leases were held at once.
func (r *run) explainSections(n *narrative, o overlap) {
	v := n.v
	v.Summary = fmt.Sprintf("%s entered its critical section on %s at %s while %s was still in one, until %s",
		other(o.later.client, o.earlier.client), v.Key, at(v.At), o.earlier.client, at(o.earlier.to))
	together := fmt.Sprintf("%s were both in their critical sections", both(o.earlier.client, o.later.client))
	if !r.law.alone() {
		v.Summary = fmt.Sprintf("%s entered its critical section on %s at %s while %s, until %s", o.later.client, v.Key, at(v.At), r.law.insideWere(o), at(o.earlier.to))
		together = r.law.together(o) + " in their critical sections at once"
	}
	a, b := o.earlier, o.later
	for _, s := range o.named {
		if s != a {
			n.entered(s)
		}
	}
	n.entered(a)
	n.entered(b)
	if overlapping, ok := r.leaseOverlap(a.lease, b.lease); ok && overlapping.from() <= o.to() {
		n.overlap(overlapping)
	} else if a.lease != nil {
		n.outlived(a.lease, a.to)
		if b.lease != nil {
			n.lease(b.lease, 0)
		}
	}
	n.left(a)
	n.violated(fmt.Sprintf("for %s, from %s to %s, %s", at(o.to()-o.from()), at(o.from()), at(o.to()), together))
}

// entered adds the beginning of a critical section.
func (n *narrative) entered(s *stretch) {
	text := fmt.Sprintf("%s entered its critical section on %s", s.client, s.key)
	if s.lease == nil {
		text += " without a lease"
	}
	n.add(Event{At: s.from, Kind: EventEntered, Client: s.client, Key: s.key, Token: s.token, Word: "enter", Ops: s.ops[:1], Text: text})
}

// left adds the end of a critical section, and how long after the end of its lease that was.
func (n *narrative) left(s *stretch) {
	text := s.client + " left its critical section"
	if s.cut {
		text = s.client + " was last seen in its critical section"
	}
	if s.lease != nil {
		if over := endBefore(s.lease, s.to); over < s.to {
			text += fmt.Sprintf(", %s after its lease was over", at(s.to-over))
		}
	}
	n.add(Event{At: s.to, Kind: EventLeft, Client: s.client, Key: s.key, Token: s.token, Word: "leave", Ops: s.ops[len(s.ops)-1:], Text: text})
}
