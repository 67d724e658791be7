package checker

import (
	"fmt"
)

// extensionSteps says when an extension was asked for, what stopped its
// client, and who was granted the lock while the lease was over.
func (r *run) extensionSteps(x lateExtension) []reason {
	steps := []reason{{at: x.before.At, text: fmt.Sprintf("At %s %s had a lease on %s that was valid until %s.",
		at(x.before.At), x.lease.Process, x.lease.Key, at(x.before.Until))}}
	if asked, ok := r.asked(x.grant.Index); ok {
		steps = append(steps, reason{at: asked, text: fmt.Sprintf("At %s %s asked to extend it.", at(asked), x.lease.Process)})
	}
	for _, p := range r.pauses[x.lease.Process] {
		if p.from < x.grant.At && p.to > x.before.At {
			steps = append(steps, r.stopped(x.lease.Process, p))
		}
	}
	for _, l := range r.leases {
		if l.Key == x.lease.Key && l != x.lease && l.Acquired() >= x.before.Until && l.Acquired() <= x.grant.At {
			steps = append(steps, reason{at: l.Acquired(), text: fmt.Sprintf("At %s %s was granted %s meanwhile.", at(l.Acquired()), l.Process, l.Key)})
			break
		}
	}
	return append(steps, reason{at: x.grant.At, text: fmt.Sprintf("At %s the extension was granted, %s, %s after the lease had ended.",
		at(x.grant.At), r.by(r.extenders(x.lease, x.before, x.grant), r.lookup().voted(x.lease)), at(x.grant.At-x.before.Until))})
}

// explainExtension explains that an extension came too late or without a quorum.
func (r *run) explainExtension(v *Violation, x lateExtension) {
	v.Summary = fmt.Sprintf("%s was told at %s that its lease on %s was extended, %s after it had ended",
		x.lease.Process, at(v.At), v.Key, at(x.grant.At-x.before.Until))
	if x.backing != nil {
		v.Summary = fmt.Sprintf("%s was told at %s that its lease on %s was extended, with the yes of %s, and a quorum needs %d",
			x.lease.Process, at(v.At), v.Key, count(len(x.backing.yes), "master", "masters"), r.quorum())
		r.explain(v, r.explainUnbacked(*x.backing))
		return
	}
	r.explain(v, r.extensionSteps(x))
}
