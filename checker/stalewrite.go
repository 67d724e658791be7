package checker

import (
	"fmt"

	"lockpick/history"
)

var NoStaleWrite = Property{
	Name: "no-stale-write", Level: "L4",
	Says:  "the resource applies no write of a lease after one of a later lease",
	Leads: true, Writes: true,
	rules: &rules{
		judge:  (*run).noStaleWrite,
		gaps:   []gap{{lacks(history.FApply), "nothing was written to the guarded resource"}},
		exempt: []exemption{ordersNoWrites},
	},
}

// noStaleWrite judges L4, at the resource that applies any write.
func (r *run) noStaleWrite() *judgement { return r.staleWrites(r.writes(false), false) }

func (r *run) staleWrites(w appliedWrites, fenced bool) *judgement {
	if w.judged+w.refused == 0 {
		return nil
	}
	found := make([]Violation, 0, len(w.stale))
	byWrite := map[int]staleWrite{}
	for _, s := range w.stale {
		byWrite[s.write.Index] = s
		found = append(found, Violation{
			Key: s.write.Key, At: s.write.Time, Until: s.write.Time,
			Ops:     []int{s.earlier.Grants[0].Index, s.later.Grants[0].Index, s.after.Index, s.write.Index},
			Tokens:  []string{s.earlier.Token, s.later.Token},
			Clients: []string{s.earlier.Process, s.later.Process},
		})
	}
	return &judgement{
		tally: tally{checked: w.judged, refused: w.refused, uncertain: w.uncertain}, violations: found,
		evidence: r.need("applied writes of contended leases", w.contended, moreContention),
		explain:  func(n *narrative) { r.explainStaleWrite(n, byWrite[n.v.Ops[len(n.v.Ops)-1]]) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s came after a write of a later lease: the first at %s on %s",
				share(t.found, t.checked, "applied writes"), at(first.At), first.Key)
		},
		notes: func(t tally) string {
			notes := ""
			if fenced {
				notes = fmt.Sprintf("; the fence refused %s", count(t.refused, "write", "writes"))
			}
			if t.uncertain > 0 {
				notes += fmt.Sprintf("; of %s it is not certain whose lease is the later one", count(t.uncertain, "write", "writes"))
			}
			return notes
		},
		holds: func(t tally) string {
			return fmt.Sprintf("none of the %s came after a write of a later lease", count(t.checked, "applied write", "applied writes"))
		},
	}
}

// explainStaleWrite explains that a write was applied after a write of a later lease.
func (r *run) explainStaleWrite(n *narrative, s staleWrite) {
	v := n.v
	a, b := s.earlier, s.later
	v.Summary = fmt.Sprintf("a write of %s to %s was applied at %s, after one of %s, whose lease is the later one",
		a.Process, v.Key, at(v.At), other(b.Process, a.Process))
	if o, ok := r.leaseOverlap(a, b); ok && o.from() <= s.write.Time {
		n.overlap(o)
	} else {
		n.outlived(a, s.write.Time)
		n.lease(b, 0)
	}
	n.stored(storedWrite{op: s.after}, b.Process, false)
	n.stored(storedWrite{op: s.write}, a.Process, false)
	for _, w := range r.storedUnder(a) {
		if w.op.Time == s.write.Time && w.op.Value.Value == s.write.Value.Value && w.op.Type == history.Fail {
			n.stored(w, a.Process, false)
		}
	}
	text := fmt.Sprintf("the storage applied %s's write of %d after the write of %d under the later lease of %s", a.Process, s.write.Value.Value,
		s.after.Value.Value, other(b.Process, a.Process))
	switch {
	case !s.write.Value.Fenced:
	case s.write.Value.Fence < s.after.Value.Fence:
		text += fmt.Sprintf("; its fencing token %d is lower than %d, so the storage should have refused it", s.write.Value.Fence, s.after.Value.Fence)
	default:
		text += fmt.Sprintf("; its fencing token %d is not lower than %d, so the fence could not tell", s.write.Value.Fence, s.after.Value.Fence)
	}
	n.violated(text)
}
