package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// staleWriteSteps says how a write came to be applied after one of a later lease.
func (r *run) staleWriteSteps(s staleWrite) []reason {
	a, b := s.earlier, s.later
	var steps []reason
	if o, ok := r.leaseOverlap(a, b); ok && o.from() <= s.write.Time {
		steps = r.explainOverlap(o)
	} else {
		steps = append(r.outlived(a, s.write.Time), r.granted(b, 0)...)
	}
	steps = append(steps,
		reason{at: s.after.Time, text: fmt.Sprintf("At %s %s's write of %d was applied%s.", at(s.after.Time), b.Process, s.after.Value.Value, fence(s.after))})
	if sent, ok := r.sent(s.write); ok {
		steps = append(steps, reason{at: sent, text: fmt.Sprintf("At %s %s sent its write of %d.", at(sent), a.Process, s.write.Value.Value)})
	}
	text := fmt.Sprintf("At %s %s's write of %d was applied%s, over that of the later lease", at(s.write.Time), a.Process, s.write.Value.Value, fence(s.write))
	if s.write.Value.Fenced {
		if s.write.Value.Fence < s.after.Value.Fence {
			text += ": the resource took a lower fencing token than one that it had seen"
		} else {
			text += ": the fencing token of the earlier lease is not lower, so the fence could not tell"
		}
	}
	return append(steps, reason{at: s.write.Time, text: text + "."})
}

func fence(apply *history.Op) string {
	if !apply.Value.Fenced {
		return ""
	}
	return fmt.Sprintf(" with the fencing token %d", apply.Value.Fence)
}

// sent is when a client sent the write that was applied.
func (r *run) sent(apply *history.Op) (time.Duration, bool) {
	for i := apply.Index - 1; i >= 0; i-- {
		op := &r.h.Ops[i]
		if op.F == history.FWrite && op.Type == history.Invoke && op.Key == apply.Key && op.Value != nil &&
			op.Value.Token == apply.Value.Token && op.Value.Value == apply.Value.Value && op.Value.Fenced == apply.Value.Fenced {
			return op.Time, true
		}
	}
	return 0, false
}

// explainStaleWrite explains that a write was applied after one of a later lease.
func (r *run) explainStaleWrite(v *Violation, s staleWrite) {
	v.Summary = fmt.Sprintf("a write of %s to %s was applied at %s, after one of %s, whose lease is the later one",
		s.earlier.Process, v.Key, at(v.At), other(s.later.Process, s.earlier.Process))
	r.explain(v, r.staleWriteSteps(s))
}
