package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// explainStaleWrite explains that a write was applied after a write of a later lease.
func (r *run) explainStaleWrite(v *Violation, s staleWrite) {
	a, b := s.earlier, s.later
	v.Summary = fmt.Sprintf("a write of %s to %s was applied at %s, after one of %s, whose lease is the later one",
		a.Process, v.Key, at(v.At), other(b.Process, a.Process))
	n := r.narrate(v)
	if o, ok := r.leaseOverlap(a, b); ok && o.from() <= s.write.Time {
		n.overlap(o)
	} else {
		n.outlived(a, s.write.Time)
		n.lease(b, 0)
	}
	n.applied(s.after, b.Process)
	n.applied(s.write, a.Process)
	text := fmt.Sprintf("the resource applied %s's write of %d after the write of %d under the later lease of %s", a.Process, s.write.Value.Value,
		s.after.Value.Value, other(b.Process, a.Process))
	switch {
	case !s.write.Value.Fenced:
	case s.write.Value.Fence < s.after.Value.Fence:
		text += fmt.Sprintf("; its fencing token %d is lower than %d, so the resource should have refused it", s.write.Value.Fence, s.after.Value.Fence)
	default:
		text += fmt.Sprintf("; its fencing token %d is not lower than %d, so the fence could not tell", s.write.Value.Fence, s.after.Value.Fence)
	}
	n.violated(fmt.Sprintf("%s: this violates %s (%s)", text, spaced(v.Property), v.Level))
}

// applied adds that the resource applied a write, and when its client sent the write.
func (n *narrative) applied(apply *history.Op, client string) {
	value := apply.Value
	if sent, i, ok := n.r.sent(apply); ok && sent < apply.Time {
		n.add(Event{At: sent, Kind: EventSent, Client: client, Key: apply.Key, Token: value.Token, Value: value.Value, Word: "write", Ops: []int{i},
			Text: fmt.Sprintf("%s sent its write of %d", client, value.Value)})
	}
	n.add(Event{At: apply.Time, Kind: EventApplied, Client: client, Key: apply.Key, Token: value.Token, Value: value.Value, Fence: value.Fence, Word: "applied", Ops: []int{apply.Index},
		Text: fmt.Sprintf("the resource applied %s's write of %d%s", client, value.Value, fence(apply))})
}

func fence(apply *history.Op) string {
	if !apply.Value.Fenced {
		return ""
	}
	return fmt.Sprintf(" with the fencing token %d", apply.Value.Fence)
}

// sent returns when a client sent the write that was applied, and the line that shows it.
func (r *run) sent(apply *history.Op) (time.Duration, int, bool) {
	before, _ := r.h.Position(apply.Index)
	for i := before - 1; i >= 0; i-- {
		op := &r.h.Ops[i]
		if op.F == history.FWrite && op.Type == history.Invoke && op.Key == apply.Key && op.Value != nil &&
			op.Value.Token == apply.Value.Token && op.Value.Value == apply.Value.Value && op.Value.Fenced == apply.Value.Fenced {
			return op.Time, op.Index, true
		}
	}
	return 0, 0, false
}
