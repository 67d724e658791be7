package checker

import (
	"fmt"

	"lockpick/history"
)

func (r *run) explainUnaware(v *Violation, u unaware) {
	did := "entered its critical section on " + v.Key
	if u.op.F == history.FWrite {
		did = "began a write to " + v.Key
	}
	client := u.op.Process
	if u.lease == nil || u.op.Time < u.lease.Acquired() {
		v.Summary = fmt.Sprintf("%s %s at %s without a lease", client, did, at(v.At))
		r.explain(v, []reason{{at: v.At, text: fmt.Sprintf("By %s %s had been granted nothing under this token.", at(v.At), client)}})
		return
	}
	v.Summary = fmt.Sprintf("%s %s at %s, %s after its lease was over", client, did, at(v.At), at(v.At-u.since))
	steps := r.granted(u.lease, u.op.Time)
	switch {
	case u.lost != nil:
		steps = append(steps, reason{at: u.since, text: fmt.Sprintf("At %s an extension had been refused by so many masters that no quorum could hold the token.", at(u.since))})
	case u.lease.ReleaseIndex >= 0 && u.lease.Released == u.since:
		steps = append(steps, reason{at: u.since, text: fmt.Sprintf("At %s the lease was released.", at(u.since))})
	default:
		steps = append(steps, reason{at: u.since, text: fmt.Sprintf("At %s the lease ended.", at(u.since))})
	}
	steps = append(steps, reason{at: v.At, text: fmt.Sprintf("At %s %s %s; it had not stood still since.", at(v.At), client, did)})
	r.explain(v, steps)
}
