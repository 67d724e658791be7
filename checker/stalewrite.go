package checker

import (
	"fmt"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/internal/plural"
)

var NoStaleWrite = Property{
	Name: "no-stale-write", Level: "L4", Says: "the resource applies no write of a lease after one of a later lease", Leads: true, Writes: true,
	rules: &rules{judge: (*run).noStaleWrite, gaps: []gap{{lacks(history.FApply), "nothing was written to the guarded resource"}}, exempt: []exemption{ordersNoWrites}},
}

// noStaleWrite judges L4, at the resource that applies any write.
func (r *run) noStaleWrite() *judgement { return r.staleWrites(r.Writes(false), false) }

func (r *run) staleWrites(w facts.AppliedWrites, fenced bool) *judgement {
	if w.Judged+w.Refused == 0 {
		return nil
	}
	var found []proven
	for _, s := range w.Stale {
		found = append(found, proven{onLeases(s.Write.Time, s.Write.Time, []int{s.Earlier.Grants[0].Index, s.Later.Grants[0].Index, s.After.Index, s.Write.Index}, s.Earlier, s.Later), func(n *narrative.Narrative) { r.explainStaleWrite(n, s) }})
	}
	note := noteOn(w.Uncertain, "of %s it is not certain whose lease is the later one", "write", "writes")
	if fenced {
		note = fmt.Sprintf("; the fence refused %s", plural.Count(w.Refused, "write", "writes")) + note
	}
	return &judgement{
		tally: tally{checked: w.Judged}, violations: found,
		evidence: r.need("applied writes of contended leases", w.Contended, MoreContention),
		violated: firstOf("applied writes", "came after a write of a later lease"),
		note:     note,
		holds:    allOf("none of the %s came after a write of a later lease", "applied write", "applied writes"),
	}
}

// explainStaleWrite explains that a write was applied after a write of a later lease.
func (r *run) explainStaleWrite(n *narrative.Narrative, s facts.StaleWrite) {
	v := n.Violation
	a, b := s.Earlier, s.Later
	v.Summary = fmt.Sprintf("a write of %s to %s was applied at %s, after one of %s, whose lease is the later one",
		a.Process, v.Key, narrative.At(v.At), narrative.Again(b.Process, a.Process))
	if o, ok := r.leaseOverlap(a, b); ok && o.from() <= s.Write.Time {
		r.explainOverlap(n, o)
	} else {
		n.Outlived(a, s.Write.Time)
		n.Lease(b, 0)
	}
	n.Write(facts.StoredWrite{Op: s.After}, b.Process, false)
	n.Write(facts.StoredWrite{Op: s.Write}, a.Process, false)
	for _, w := range r.StoredUnder(a) {
		if w.Op.Time == s.Write.Time && w.Op.Value.Value == s.Write.Value.Value && w.Op.Type == history.Fail {
			n.Write(w, a.Process, false)
		}
	}
	text := fmt.Sprintf("the storage applied %s's write of %d after the write of %d under the later lease of %s", a.Process, s.Write.Value.Value,
		s.After.Value.Value, narrative.Again(b.Process, a.Process))
	switch {
	case !s.Write.Value.Fenced:
	case s.Write.Value.Fence < s.After.Value.Fence:
		text += fmt.Sprintf("; its fencing token %d is lower than %d, so the storage should have refused it", s.Write.Value.Fence, s.After.Value.Fence)
	default:
		text += fmt.Sprintf("; its fencing token %d is not lower than %d, so the fence could not tell", s.Write.Value.Fence, s.After.Value.Fence)
	}
	n.Violated(text)
}
