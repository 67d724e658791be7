package checker

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/internal/plural"
)

var BeliefExclusion = Property{
	Name: "belief-exclusion", Level: "L3", Says: "critical sections on one key are disjoint", Title: "one client at a time in the critical section",
	Leads: true, Exclusive: true, Reported: true,
	rules: &rules{judge: (*run).beliefExclusion, gaps: []gap{nobodyEntered}},
}

// beliefExclusion judges L3: no two critical sections on one key overlap. If a section outlasts its
// lease only because the machine stood still, it counts to the end of the lease.
func (r *run) beliefExclusion() *judgement {
	all := facts.SectionsOf(r.History, r.LeaseAt)
	if len(all) == 0 {
		return nil
	}
	return r.beliefsIn(all)
}

func (r *run) beliefsIn(all []facts.Hold) *judgement {
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
	all = r.Lock.Parts(all)
	before := map[int]time.Duration{} // the recorded ends of sections that were left late because the machine stood still
	for i := range all {
		s := &all[i]
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
	return &judgement{
		tally: tally{checked: judged}, violations: r.overlaps(overlaps, r.explainSections),
		evidence: r.need("critical sections that were contended", contended, MoreContention),
		violated: firstOf("critical sections", r.beganThough("began while another client was still in one")),
		holds: func(t tally) string {
			return noOverlap(r.Lock, plural.Count(t.checked, "critical section", "critical sections"))
		},
	}
}

// explainSections explains that two critical sections overlap: one lasted longer than its
// lease, or two leases were held at once.
func (r *run) explainSections(n *narrative.Narrative, o overlap) {
	v := n.Violation
	v.Summary = fmt.Sprintf("%s entered its critical section on %s at %s while %s was still in one",
		narrative.Again(o.later.Client, o.earlier.Client), v.Key, narrative.At(v.At), o.earlier.Client)
	together := fmt.Sprintf("%s were both in their critical sections", narrative.Both(o.earlier.Client, o.later.Client))
	if !r.Lock.Exclusive() {
		did := "entered its critical section on"
		if o.later.Upgraded {
			did = "became a writer in its critical section on"
		}
		v.Summary = fmt.Sprintf("%s %s %s at %s while %s", o.later.Client, did, v.Key, narrative.At(v.At), o.insideWere())
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
	var beside []*history.Lease
	if r.Lock.Kind == history.Semaphore {
		for _, s := range o.named {
			beside = append(beside, s.Lease)
		}
	}
	if overlapping, ok := r.leaseOverlap(a.Lease, b.Lease, beside...); ok && overlapping.from() <= o.to() {
		r.explainOverlap(n, overlapping)
	} else if a.Lease != nil {
		n.Outlived(a.Lease, a.To)
		if b.Lease != nil {
			n.Lease(b.Lease, 0)
		}
	}
	r.explainLeft(n, a)
	n.Violated(fmt.Sprintf("for %s, from %s to %s, %s", narrative.At(o.to()-o.from()), narrative.At(o.from()), narrative.At(o.to()), together))
}

// explainEntered adds the beginning of a critical section.
func (r *run) explainEntered(n *narrative.Narrative, s *facts.Hold) {
	text := fmt.Sprintf("%s entered its critical section on %s", s.Client, s.Key)
	if s.Upgraded {
		text = fmt.Sprintf("%s became a writer in its critical section on %s", s.Client, s.Key)
	}
	if s.Lease == nil {
		text += " without a lease"
	}
	n.Add(narrative.Event{At: r.History.Op(s.Ops[0]).Time, Kind: narrative.EventEntered, Client: s.Client, Key: s.Key, Token: s.Token, Word: "enter", Ops: s.Ops[:1], Text: text})
}

// explainLeft adds the end of a critical section, and how long after the end of its lease that was.
func (r *run) explainLeft(n *narrative.Narrative, s *facts.Hold) {
	text := s.Client + " left its critical section"
	if last := r.History.Op(s.Ops[len(s.Ops)-1]); last.F == history.FExtend && last.Value.Mode != "" && last.Time >= s.To {
		text = s.Client + " became a reader in its critical section"
	} else if s.Unfinished {
		text = s.Client + " was last seen in its critical section"
	}
	if s.Lease != nil {
		if over := facts.LeaseEnd(s.Lease, s.To); over < s.To {
			text += fmt.Sprintf(", %s after its lease was over", narrative.At(s.To-over))
		}
	}
	n.Add(narrative.Event{At: s.To, Kind: narrative.EventLeft, Client: s.Client, Key: s.Key, Token: s.Token, Word: "leave", Ops: s.Ops[len(s.Ops)-1:], Text: text})
}
