package checker

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
)

var BeliefExclusion = Property{
	Name: "belief-exclusion", Level: "L3",
	Says:  "critical sections on one key are disjoint",
	Title: "one client at a time in the critical section",
	Leads: true, Exclusive: true,
	rules: &rules{
		judge: (*judging).beliefExclusion,
		gaps:  []gap{nobodyEntered},
	},
}

// beliefExclusion judges L3: no two critical sections on one key overlap. If a section outlasts its
// lease only because the machine stood still, it counts to the end of the lease.
func (r *judging) beliefExclusion() *judgement {
	all := facts.SectionsOf(r.History.Ops, r.LeaseAt)
	if len(all) == 0 {
		return nil
	}
	return r.beliefsIn(all)
}

func (r *judging) beliefsIn(all []facts.Hold) *judgement {
	competed := r.Contended()
	var contended []time.Duration
	judged := 0
	for _, s := range all {
		if !r.InWindow(s.From) {
			continue
		}
		judged++
		if s.Lease != nil && competed[s.Lease] {
			contended = append(contended, s.From)
		}
	}
	before := map[int]time.Duration{} // the recorded ends of sections that were left late because the machine stood still
	for i := range all {
		s := &all[i]
		s.Weight = r.Lock.WeightOf(s.Lease)
		if s.Lease == nil {
			continue
		}
		if over, late := r.ExcusedLate(s.Lease, s.To); late {
			before[i], s.To = s.To, max(s.From, over)
		}
	}
	overlaps := sweep(all, r.Lock)
	for i, to := range before {
		all[i].To = to
	}
	found := make([]Violation, 0, len(overlaps))
	byEnter := map[int]overlap{}
	for _, o := range overlaps {
		if !r.InWindow(o.from()) {
			continue
		}
		found = append(found, violation(o))
		byEnter[o.later.Ops[0]] = o
	}
	return &judgement{
		tally: tally{checked: judged}, violations: found,
		evidence: r.need("critical sections that were contended", contended, moreContention),
		explain:  func(n *narrative) { r.explainSections(n, byEnter[n.v.Ops[len(n.v.Ops)-1]]) },
		violated: func(t tally, first *Violation) string {
			began := "began while another client was still in one"
			if !r.Lock.Exclusive() {
				began = "began while others that had not ended left no room for it"
			}
			return fmt.Sprintf("%s %s: the first at %s on %s", share(t.found, t.checked, "critical sections"), began, at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return noOverlap(r.Lock, count(t.checked, "critical section", "critical sections"))
		},
	}
}

// explainSections explains that two critical sections overlap: one lasted longer than its
// lease, or two leases were held at once.
func (r *judging) explainSections(n *narrative, o overlap) {
	v := n.v
	v.Summary = fmt.Sprintf("%s entered its critical section on %s at %s while %s was still in one, until %s",
		other(o.later.Client, o.earlier.Client), v.Key, at(v.At), o.earlier.Client, at(o.earlier.To))
	together := fmt.Sprintf("%s were both in their critical sections", both(o.earlier.Client, o.later.Client))
	if !r.Lock.Exclusive() {
		v.Summary = fmt.Sprintf("%s entered its critical section on %s at %s while %s, until %s", o.later.Client, v.Key, at(v.At), o.insideWere(), at(o.earlier.To))
		together = o.together() + " in their critical sections at once"
	}
	a, b := o.earlier, o.later
	for _, s := range o.named {
		if s != a {
			r.explainEntered(n, s)
		}
	}
	r.explainEntered(n, a)
	r.explainEntered(n, b)
	if overlapping, ok := r.leaseOverlap(a.Lease, b.Lease); ok && overlapping.from() <= o.to() {
		r.explainOverlap(n, overlapping)
	} else if a.Lease != nil {
		n.outlived(a.Lease, a.To)
		if b.Lease != nil {
			n.lease(b.Lease, 0)
		}
	}
	r.explainLeft(n, a)
	n.violated(fmt.Sprintf("for %s, from %s to %s, %s", at(o.to()-o.from()), at(o.from()), at(o.to()), together))
}

// explainEntered adds the beginning of a critical section.
func (r *judging) explainEntered(n *narrative, s *facts.Hold) {
	text := fmt.Sprintf("%s entered its critical section on %s", s.Client, s.Key)
	if s.Lease == nil {
		text += " without a lease"
	}
	n.add(Event{At: s.From, Kind: EventEntered, Client: s.Client, Key: s.Key, Token: s.Token, Word: "enter", Ops: s.Ops[:1], Text: text})
}

// explainLeft adds the end of a critical section, and how long after the end of its lease that was.
func (r *judging) explainLeft(n *narrative, s *facts.Hold) {
	text := s.Client + " left its critical section"
	if s.Unfinished {
		text = s.Client + " was last seen in its critical section"
	}
	if s.Lease != nil {
		if over := facts.LeaseEnd(s.Lease, s.To); over < s.To {
			text += fmt.Sprintf(", %s after its lease was over", at(s.To-over))
		}
	}
	n.add(Event{At: s.To, Kind: EventLeft, Client: s.Client, Key: s.Key, Token: s.Token, Word: "leave", Ops: s.Ops[len(s.Ops)-1:], Text: text})
}
