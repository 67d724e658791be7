package checker

import (
	"fmt"

	"lockpick/history"
)

// explainUnbacked explains that an acquire returned a lease without the yes of a quorum.
func (r *run) explainUnbacked(v *Violation, b backing) {
	l := b.lease
	v.Summary = fmt.Sprintf("%s was granted %s at %s with the yes of %s, and a quorum needs %d", l.Process, v.Key, at(v.At), count(len(b.yes), "master", "masters"), r.quorum())
	n := r.narrate(v)
	n.lease(l, b.grant.At)
	n.answersSince(b)
	n.violated(fmt.Sprintf("when the acquire returned, %s had said yes, and a quorum needs %d", Enumerate(b.yes), r.quorum()))
}

// answersSince adds the requests whose answers a grant rests on, as part of the reason.
func (n *narrative) answersSince(b backing) {
	for _, a := range n.r.requests(b.lease.Key, party{b.lease.Process, b.lease.Token}) {
		if a.command != history.CommandRelease && a.sent >= b.since-n.r.slack && a.sent <= b.grant.At {
			n.request(a, false)
		}
	}
}

// explainReuse explains that two acquisitions have one token.
func (r *run) explainReuse(v *Violation, a, b *history.Lease) {
	v.Summary = fmt.Sprintf("%s was granted %s at %s with the token %s, which %s had been granted at %s",
		b.Process, v.Key, at(v.At), v.Tokens[0], other(a.Process, b.Process), at(a.Acquired()))
	n := r.narrate(v)
	n.lease(a, 0)
	n.lease(b, 0)
	n.violated(fmt.Sprintf("both acquisitions had the token %s", v.Tokens[0]))
}
