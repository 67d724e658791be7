package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// overlappingSections says why two critical sections overlap: one lasted longer
// than its lease, or two leases were held at once.
func (r *run) overlappingSections(o overlap) []reason {
	a, b := o.earlier, o.later
	steps := append(r.entered(a), r.entered(b)...)
	end := "left it"
	if a.cut {
		end = "was last seen in it"
	}
	if overlapping, ok := r.leaseOverlap(a.lease, b.lease); ok && overlapping.from() <= o.to() {
		steps = append(steps, r.explainOverlap(overlapping)...)
		return append(steps, reason{at: a.to, text: fmt.Sprintf("At %s %s %s.", at(a.to), a.client, end)})
	}
	if a.lease == nil {
		return append(steps, reason{at: a.to, text: fmt.Sprintf("At %s %s %s: it was in the section without a lease.", at(a.to), a.client, end)})
	}
	over := endBefore(a.lease, a.to)
	steps = append(steps, r.outlived(a.lease, a.to)...)
	if b.lease != nil {
		steps = append(steps, r.granted(b.lease, 0)...)
	}
	return append(steps, reason{at: a.to, text: fmt.Sprintf("At %s %s %s, %s after its lease was over.", at(a.to), a.client, end, at(a.to-over))})
}

func (r *run) entered(s *stretch) []reason {
	without := ""
	if s.lease == nil {
		without = " without a lease"
	}
	return []reason{{at: s.from, text: fmt.Sprintf("At %s %s entered its critical section on %s%s.", at(s.from), s.client, s.key, without)}}
}

// outlived says how a client came to act on a lease that was over: what was
// granted, whether it was stopped meanwhile, and when the lease ended.
func (r *run) outlived(l *history.Lease, to time.Duration) []reason {
	steps := r.granted(l, to)
	paused := false
	over := endBefore(l, to)
	for _, p := range r.pauses[l.Process] {
		if p.from >= to || p.to <= over || p.to <= l.Invoked {
			continue
		}
		paused = true
		steps = append(steps, r.stopped(l.Process, p))
	}
	how := "ended"
	if l.ReleaseIndex >= 0 && l.Released == over {
		how = "was released"
	}
	steps = append(steps, reason{at: over, text: fmt.Sprintf("At %s %s's lease %s.", at(over), l.Process, how)})
	for i := range r.h.Ops {
		if op := &r.h.Ops[i]; op.F == history.FStall && op.Value != nil && op.Time > over && op.Time-op.Value.Took < to {
			paused = true
			steps = append(steps, reason{at: op.Time, text: fmt.Sprintf("Until %s the harness's own machine stood still for %s, and every client with it.", at(op.Time), at(op.Value.Took))})
		}
	}
	if !paused {
		steps = append(steps, reason{at: to, text: fmt.Sprintf("No recorded pause explains why %s still acted on it at %s.", l.Process, at(to))})
	}
	return steps
}

// stopped tells of a client's pause, and of the fault that stopped it.
func (r *run) stopped(client string, p pause) reason {
	s := reason{at: p.from}
	where, name := "", ""
	if p.point != "" {
		where = " at the point " + p.point
	}
	for _, f := range r.faults {
		if f.Name == clientPause && f.Installed && f.Began < p.to && f.To > p.from && (len(f.Clients) == 0 || slices.Contains(f.Clients, client)) {
			s.faults = []int{f.ID}
			name = fmt.Sprintf(" (client-pause #%d)", f.ID)
			break
		}
	}
	until := fmt.Sprintf("went on only at %s", at(p.to))
	if !p.ended {
		until = "was not seen to go on"
	}
	s.text = fmt.Sprintf("At %s %s was stopped%s%s and %s.", at(p.from), client, where, name, until)
	return s
}

// endBefore is when the last hold of a lease that began before a time ended.
func endBefore(l *history.Lease, before time.Duration) time.Duration {
	end := l.Grants[0].Until
	for _, s := range l.Holds() {
		if s.From <= before {
			end = s.To
		}
	}
	return end
}

// explainSections explains that two critical sections overlap.
func (r *run) explainSections(v *Violation, o overlap) {
	v.Summary = fmt.Sprintf("%s entered its critical section on %s at %s while %s was still in one, until %s",
		other(o.later.client, o.earlier.client), v.Key, at(v.At), o.earlier.client, at(o.earlier.to))
	r.explain(v, r.overlappingSections(o))
}
