package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// explainExtension explains that an extension came too late or without a quorum: when it was
// called, what stopped its client, and which client was granted the lock after the lease had ended.
func (r *run) explainExtension(v *Violation, x lateExtension) {
	l := x.lease
	v.Summary = fmt.Sprintf("%s was told at %s that its lease on %s was extended, %s after it had ended",
		l.Process, at(v.At), v.Key, at(x.grant.At-x.before.Until))
	if x.backing != nil {
		v.Summary = fmt.Sprintf("%s was told at %s that its lease on %s was extended, %s", l.Process, at(v.At), v.Key, r.tooFew(x.backing))
	}
	if x.afterRelease {
		v.Summary = fmt.Sprintf("%s was told at %s that its lease on %s was extended, which it had released %s before",
			l.Process, at(v.At), v.Key, at(x.grant.At-l.Released))
	}
	n := r.narrate(v)
	n.extended(l, x.before, x.grant)
	for _, other := range r.leases {
		if other.Key == l.Key && other != l && other.Acquired() >= x.before.Until && other.Acquired() <= x.grant.At {
			n.lease(other, 0)
			break
		}
	}
	text := fmt.Sprintf("the extension was granted %s after the lease had ended", at(x.grant.At-x.before.Until))
	if x.afterRelease {
		text = fmt.Sprintf("the extension was granted %s after the release", at(x.grant.At-l.Released))
	}
	if x.backing != nil {
		n.answersSince(*x.backing)
		text = fmt.Sprintf("when the extension returned, %s had said yes, and a quorum needs %d", Enumerate(x.backing.yes), r.quorum())
		if x.backing.sharing > 1 {
			text = fmt.Sprintf("%d extensions on their way at once returned, %s", x.backing.sharing, r.tooFew(x.backing))
		}
	}
	n.violated(text)
}

// tooFew returns a phrase that says with how few yes answers an extension was granted.
func (r *run) tooFew(b *backing) string {
	if b.sharing > 1 {
		return fmt.Sprintf("with %d answers of yes for %d extensions at once, which need %d", b.answers, b.sharing, b.needs)
	}
	return fmt.Sprintf("with the yes of %s, and a quorum needs %d", count(len(b.yes), "master", "masters"), r.quorum())
}

// extended adds an extension of a lease: the validity before it, when it was called, what
// delayed it, and by whose votes it was granted.
func (n *narrative) extended(l *history.Lease, before, grant history.Grant) {
	r := n.r
	n.lease(l, before.At)
	if before.Until < grant.At {
		n.addAt(beforeLines, Event{At: before.Until, Kind: EventEnded, Client: l.Process, Key: l.Key, Token: l.Token, Word: "ended", Text: fmt.Sprintf("%s's lease ended", l.Process)})
	}
	if line, ok := r.called(grant.Index); ok {
		n.add(Event{At: r.h.Op(line).Time, Kind: EventCalled, Client: l.Process, Key: l.Key, Token: l.Token, Command: history.FExtend, Until: grant.At, Word: "extend", Ops: []int{line},
			Text: fmt.Sprintf("%s called extend", l.Process)})
	}
	for _, p := range r.pauses[l.Process] {
		if p.from < grant.At && p.to > before.At {
			n.paused(l.Process, p, false)
		}
	}
	n.slow(l, before.At, grant.At)
	n.extension(l, before, grant, false)
	n.shortTTL(l, grant, history.CommandExtend, before.At)
}

// slow adds the faults that delayed the masters' answers to the extensions of a lease between two
// times.
func (n *narrative) slow(l *history.Lease, from, to time.Duration) {
	for v := range n.r.lookup().of(l) {
		if v.Command != history.CommandExtend || v.At < from || sent(v) > to {
			continue
		}
		for _, f := range n.r.faultsWithin(sent(v), v.At) {
			if !slices.Contains(f.Masters, v.Master) || len(f.Clients) > 0 && !slices.Contains(f.Clients, l.Process) || !f.Installed || f.From > v.At || f.To < sent(v) {
				continue
			}
			if disrupts(f) {
				n.fault(f, false, nil)
			}
		}
	}
}
