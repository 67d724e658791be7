package checker

import (
	"fmt"

	"lockpick/history"
)

// lostUpdateSteps says what a write was computed from and when, what replaced that, why
// the comparison let the write pass, and how two clients came to write at all.
func (r *run) lostUpdateSteps(u lostUpdate) []reason {
	steps := r.bothWrote(u)
	knew := fmt.Sprintf("At %s %s read %d.", at(u.from.Time), u.client(), u.from.Value.Value)
	if u.from.F == history.FApply {
		knew = fmt.Sprintf("At %s %s's write of %d was applied.", at(u.from.Time), u.client(), u.from.Value.Value)
	}
	steps = append(steps, reason{at: u.from.Time, text: knew})
	for _, x := range []struct {
		write *history.Op
		who   string
	}{{u.lost, holder(u.other)}, {u.write, u.client()}} {
		if m := r.marked(x.write); m != nil {
			steps = append(steps, reason{at: m.Time, text: fmt.Sprintf("At %s %s put its token into the resource.", at(m.Time), x.who)})
		}
	}
	passed := "no token of its client was ever put into the resource, which should have refused it"
	if m := r.marked(u.write); m != nil {
		passed = "its token was put there only after that, so the comparison could not tell"
		if m.Index < u.lost.Index {
			passed = "its token had been put there before that: the resource should have refused one of the two"
		}
	}
	return append(steps,
		reason{at: u.lost.Time, text: fmt.Sprintf("At %s %s's write of %d was applied.", at(u.lost.Time), holder(u.other), u.lost.Value.Value)},
		reason{at: u.write.Time, text: fmt.Sprintf("At %s %s's write of %d was applied, computed from %d: %s's update to %d is lost; %s.",
			at(u.write.Time), u.client(), u.write.Value.Value, u.from.Value.Value, holder(u.other), u.lost.Value.Value, passed)})
}

// bothWrote says how two clients came to write under leases of which at most one was to be
// held at a time.
func (r *run) bothWrote(u lostUpdate) []reason {
	if u.mine == nil || u.other == nil || u.mine == u.other {
		return nil
	}
	if o, ok := r.leaseOverlap(u.mine, u.other); ok && o.from() <= u.write.Time {
		return r.explainOverlap(o)
	}
	earlier, later, acted := u.mine, u.other, u.write.Time
	if u.other.Acquired() < u.mine.Acquired() {
		earlier, later, acted = u.other, u.mine, u.lost.Time
	}
	if endBefore(earlier, acted) >= acted { // it wrote in time; what it lost or was lost came later
		return append(r.granted(earlier, acted), r.granted(later, 0)...)
	}
	return append(r.outlived(earlier, acted), r.granted(later, 0)...)
}

// marked is the last time before a write at which its token was put into the resource.
func (r *run) marked(write *history.Op) *history.Op {
	for i := write.Index - 1; i >= 0; i-- {
		op := &r.h.Ops[i]
		if op.F == history.FMark && op.Key == write.Key && op.Value != nil && op.Value.Token == write.Value.Token {
			return op
		}
	}
	return nil
}

// explainLostUpdate explains that an update is lost.
func (r *run) explainLostUpdate(v *Violation, u lostUpdate) {
	v.Summary = fmt.Sprintf("a write of %s to %s was applied at %s though %s had replaced the value that it was computed from: that update is lost",
		u.client(), v.Key, at(v.At), u.loser())
	r.explain(v, r.lostUpdateSteps(u))
}
