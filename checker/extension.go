package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// lateExtension is an extension that was granted after the end of the lease, after its release, or
// without a quorum.
type lateExtension struct {
	lease        *history.Lease
	before       history.Grant // the grant whose validity it extends
	grant        history.Grant
	backing      *backing // set if it was in time, but fewer than a quorum of masters had said yes
	afterRelease bool     // its client had released the lease before it called extend
}

// A verdict on extensions needs less evidence than one on grants, since extensions are rarer.
const (
	minExtensions            = 5
	minExtensionsUnderFaults = 1
)

// moreExtensions is the advice if a lock extended too few leases.
const moreExtensions = "try --extend, longer holds or a longer --time-limit"

// extension judges EXT: an extension is granted only while the lease that it
// extends is valid, so it returned at or before the end of that validity
// ("within the validity time", distlock on extending a lock). After that end another client may
// have held the lock; the margin for the drift of clocks, in which the keys are still there, is no such time
// (keysUntil). The yes answers of a quorum of masters must also be there when the
// extension returns. A lease that its client has released cannot be extended. A run without a granted
// extension is not judged.
func (r *run) extension() *judgement {
	var granted []time.Duration
	var found []Violation
	byGrant := map[int]lateExtension{}
	few := 0 // extensions granted without a quorum
	for _, l := range r.leases {
		for i, g := range l.Grants[1:] {
			if g.Bent || !r.counts(g.At) {
				continue
			}
			granted = append(granted, g.At)
			x := lateExtension{lease: l, before: l.Grants[i], grant: g}
			x.afterRelease = r.afterRelease(l, g)
			if !x.afterRelease && r.inTime(r.keysUntil(x.before), g.At) {
				b, known := r.backingOf(l, i+1)
				if !known || r.quorum() == 0 || b.enough() {
					continue
				}
				x.backing = &b
				few++
			}
			byGrant[g.Index] = x
			found = append(found, Violation{
				Key: l.Key, At: g.At, Until: g.At, Ops: []int{x.before.Index, g.Index},
				Tokens: []string{l.Token}, Clients: []string{l.Process},
			})
		}
	}
	if len(granted) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: len(granted), few: few}, violations: found,
		evidence: r.needs("granted extensions", granted, minExtensions, minExtensionsUnderFaults, moreExtensions),
		explain:  func(v *Violation) { r.explainExtension(v, byGrant[v.Ops[1]]) },
		violated: func(t tally, first *Violation) string {
			why := "came when the lease was over"
			if t.few > 0 {
				why = "came when the lease was over or without a quorum"
			}
			return fmt.Sprintf("%s %s: the first at %s on %s", share(t.found, t.checked, "granted extensions"), why, at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s granted while the lease was valid", count(t.checked, "extension was", "extensions were"))
		},
	}
}

// keysUntil returns until when the keys of a grant may be there: a lock ends the validity before that, by a margin for
// the drift of clocks (distlock, "the remaining validity"). Locks leave up to a fiftieth of the TTL.
func (r *run) keysUntil(g history.Grant) time.Duration {
	if g.Bent {
		return g.Until
	}
	return g.Until + r.h.Header.TTL/50
}

// afterRelease reports whether a lease was extended by a call that its client made after it had
// released it.
func (r *run) afterRelease(l *history.Lease, g history.Grant) bool {
	if l.ReleaseIndex < 0 {
		return false
	}
	release := r.h.Op(l.ReleaseIndex)
	called, known := r.called(g.Index)
	return known && release.F == history.FRelease && release.Type == history.Invoke && called > l.ReleaseIndex
}

// inTime reports whether an event recorded at time at may have happened by end: the recorder
// records nothing while it or the machine stands still.
func (r *run) inTime(end, at time.Duration) bool {
	if at <= end {
		return true
	}
	stalled := r.stalledTime(end, at)
	return stalled > 0 && at-end <= stalled+r.slack
}

// excusedLate reports whether an action under a lease may seem late only because the machine stood
// still: a stall after the end of the lease may have delayed the recording of an action that the
// client began in time. It also returns when the lease was over.
func (r *run) excusedLate(l *history.Lease, at time.Duration) (over time.Duration, late bool) {
	if len(r.stalls().spans) == 0 {
		return 0, false
	}
	over = l.Acquired()
	for _, s := range l.Holds() {
		if !s.Empty() && s.From < at {
			over = max(over, s.To)
		}
	}
	return over, over < at && r.inTime(over, at)
}

// asked returns when the operation that ended in the line at index began.
func (r *run) asked(index int) (time.Duration, bool) {
	i, _ := r.h.Position(index)
	return r.invocations().Began(i)
}

// called returns the line of the call that ended in the line at index.
func (r *run) called(index int) (int, bool) {
	i, _ := r.h.Position(index)
	n, known := r.invocations().Invocation(i)
	if !known {
		return 0, false
	}
	return r.h.Ops[n].Index, true
}

func (r *run) invocations() *history.Calls {
	return r.calls.get(func() *history.Calls { return history.CallsOf(r.h.Ops) })
}
