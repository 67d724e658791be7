package checker

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/plural"
)

// lateExtension is an extension that was granted after the end of the lease, after its release, or
// without a quorum.
type lateExtension struct {
	lease        *history.Lease
	before       history.Grant // the grant whose validity it extends
	grant        history.Grant
	backing      *facts.Backing // set if it was in time, but fewer than a quorum of masters had said yes
	afterRelease bool           // its client had released the lease before it called extend
}

// A verdict on extensions needs less evidence than one on grants, since extensions are rarer.
const (
	minExtensions            = 5
	minExtensionsUnderFaults = 1
)

var Extension = Property{
	Name: "extension", Level: "EXT", Says: "an extension is granted only while the lease is valid, by a quorum", Helps: ExtendLeases,
	Leads: true, Needs: Extensions,
	rules: &rules{judge: (*run).extension, gaps: []gap{cannotExtend, noExtension, noExtensionByVotes}, exempt: []exemption{extensionVotesUnknown}},
}

// extension judges EXT: an extension is granted only while the lease that it
// extends is valid, so it returned at or before the end of that validity
// ("within the validity time", distlock on extending a lock). After that end another client may
// have held the lock; the margin for the drift of clocks, in which the keys are still there, is not such a time
// (KeysUntil). The yes answers of a quorum of masters must also be there when the
// extension returns. A lease that its client has released cannot be extended. A run without a granted
// extension is not judged.
func (r *run) extension() *judgement {
	var granted []time.Duration
	var found []proven
	why := "came when the lease was over"
	for _, l := range r.Leases {
		for i, g := range l.Grants[1:] {
			if g.Skewed || !r.InWindow(g.At) {
				continue
			}
			granted = append(granted, g.At)
			x := lateExtension{lease: l, before: l.Grants[i], grant: g}
			x.afterRelease = r.afterRelease(l, g)
			if !x.afterRelease && r.InTime(r.KeysUntil(x.before), g.At) {
				b, known := r.BackingOf(l, i+1)
				if !known || r.Quorum() == 0 || b.Enough() {
					continue
				}
				x.backing = &b
				why = "came when the lease was over or without a quorum"
			}
			found = append(found, proven{onLeases(g.At, g.At, []int{x.before.Index, g.Index}, l), func(n *narrative.Narrative) { r.explainExtension(n, x) }})
		}
	}
	if len(granted) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: len(granted)}, violations: found,
		evidence: r.needs("granted extensions", granted, minExtensions, minExtensionsUnderFaults, MoreExtensions),
		violated: firstOf("granted extensions", why),
		holds:    allOf("%s granted while the lease was valid", "extension was", "extensions were"),
	}
}

// afterRelease reports whether a lease was extended by a call that its client made after it had
// released it.
func (r *run) afterRelease(l *history.Lease, g history.Grant) bool {
	if l.ReleaseIndex < 0 {
		return false
	}
	release := r.History.Op(l.ReleaseIndex)
	called, known := r.CallOf(g.Index)
	return known && release.F == history.FRelease && release.Type == history.Invoke && called > l.ReleaseIndex
}

// explainExtension explains that an extension came too late or without a quorum: when it was
// called, what stopped its client, and which client was granted the lock after the lease had ended.
func (r *run) explainExtension(n *narrative.Narrative, x lateExtension) {
	v := n.Violation
	l := x.lease
	v.Summary = fmt.Sprintf("%s was told at %s that its lease on %s was extended, %s after it had ended",
		l.Process, narrative.At(v.At), v.Key, narrative.At(x.grant.At-x.before.Until))
	if x.backing != nil {
		v.Summary = fmt.Sprintf("%s was told at %s that its lease on %s was extended, %s", l.Process, narrative.At(v.At), v.Key, r.tooFew(x.backing))
	}
	if x.afterRelease {
		v.Summary = fmt.Sprintf("%s was told at %s that its lease on %s was extended, which it had released %s before",
			l.Process, narrative.At(v.At), v.Key, narrative.At(x.grant.At-l.Released))
	}
	n.Extension(l, x.before, x.grant)
	for _, other := range r.Leases {
		if other.Key == l.Key && other != l && other.Acquired() >= x.before.Until && other.Acquired() <= x.grant.At {
			n.Lease(other, 0)
			break
		}
	}
	text := fmt.Sprintf("the extension was granted %s after the lease had ended", narrative.At(x.grant.At-x.before.Until))
	if x.afterRelease {
		text = fmt.Sprintf("the extension was granted %s after the release", narrative.At(x.grant.At-l.Released))
	}
	if x.backing != nil {
		n.AnswersSince(*x.backing)
		text = fmt.Sprintf("when the extension returned, %s had said yes, and a quorum needs %d", fault.Enumerate(x.backing.Yes), r.Quorum())
		if x.backing.Sharing > 1 {
			text = fmt.Sprintf("%d extensions on their way at once returned, %s", x.backing.Sharing, r.tooFew(x.backing))
		}
	}
	n.Violated(text)
}

// tooFew returns a phrase that says with how few yes answers an extension was granted.
func (r *run) tooFew(b *facts.Backing) string {
	if b.Sharing > 1 {
		return fmt.Sprintf("with %d answers of yes for %d extensions at once, which need %d", b.Answers, b.Sharing, b.Needs)
	}
	return fmt.Sprintf("with the yes of %s, and a quorum needs %d", plural.Count(len(b.Yes), "master", "masters"), r.Quorum())
}
