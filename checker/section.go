package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// sections returns the critical sections as their clients ran them, regardless of
// their leases.
//
// A section that was never left ends where its client released the lease or crashed,
// or else at the client's last line that shows it in the section: a line with the
// token (a write, an extension) or a pause. The section does not last to the end of
// the history, since the harness may have been killed right after that line: no lock
// is convicted because a client recorded nothing.
func sections(ops []history.Op, leaseAt func(line int) *history.Lease) []stretch {
	var all []stretch
	inside := map[string][]int{} // by client: its open sections
	for i := range ops {
		op := &ops[i]
		if op.F == history.FCrash { // the crash ends all sections of its client
			for _, s := range inside[op.Process] {
				all[s].lastSeen(op)
				all[s].crashed = true
			}
			delete(inside, op.Process)
			continue
		}
		if op.Value == nil || op.F != history.FEnter && len(inside[op.Process]) == 0 {
			continue
		}
		token := op.Value.Token
		open := inside[op.Process]
		at := slices.IndexFunc(open, func(s int) bool { return all[s].token == token })
		switch {
		case op.F == history.FEnter && at < 0:
			inside[op.Process] = append(open, len(all))
			all = append(all, stretch{key: op.Key, client: op.Process, token: token, from: op.Time, to: op.Time,
				ops: []int{op.Index}, lease: leaseAt(i), cut: true})
		case op.F == history.FPaused:
			for _, s := range open {
				all[s].lastSeen(op)
			}
		case at < 0:
		case op.F == history.FLost: // no sign of life: the lock may report the loss late
		case op.F == history.FLeave || op.F == history.FRelease && op.Type == history.Invoke:
			s := &all[open[at]]
			before := s.to
			s.lastSeen(op)
			s.to = max(s.to-op.Value.Delay, before)
			s.cut = false
			inside[op.Process] = slices.Delete(open, at, at+1)
		default:
			all[open[at]].lastSeen(op)
		}
	}
	return all
}

// lastSeen sets the end of a section to a line that shows its client in it.
func (s *stretch) lastSeen(op *history.Op) {
	s.to = op.Time
	s.ops = append(s.ops[:1], op.Index)
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
		explain:  func(v *Violation) { r.explainSections(v, byEnter[v.Ops[len(v.Ops)-1]]) },
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
