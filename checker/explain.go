package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/history"
)

// reason is one step of an explanation.
type reason struct {
	at     time.Duration
	text   string // a sentence
	faults []int  // ids of the faults that it speaks of
}

// explain puts the steps, in order of time, into a violation.
func (r *run) explain(v *Violation, steps []reason) {
	slices.SortStableFunc(steps, func(a, b reason) int { return cmp.Compare(a.at, b.at) })
	for _, s := range steps {
		if slices.Contains(v.Reason, s.text) {
			continue
		}
		v.Reason = append(v.Reason, s.text)
		for _, id := range s.faults {
			if !slices.Contains(v.Faults, id) {
				v.Faults = append(v.Faults, id)
			}
		}
	}
	slices.Sort(v.Faults)
}

// explainOverlap says why two leases were held at once: who held what since
// when by which masters' votes, what took the votes away, who then got a quorum
// by which masters, and until when the first lease was valid. It uses only what
// was recorded; where that explains nothing, it says so.
func (r *run) explainOverlap(o overlap) []reason {
	a, b := o.earlier.lease, o.later.lease
	steps := append(r.granted(a, o.from()), r.granted(b, o.from())...)
	steps = append(steps, r.thin(a)...)
	steps = append(steps, r.forgotten(a, b, o.later.from)...)
	end := fmt.Sprintf("was valid until %s", at(o.earlier.to))
	if a.ReleaseIndex >= 0 && a.Released == o.earlier.to {
		end = fmt.Sprintf("was not released before %s", at(o.earlier.to))
	}
	steps = append(steps, reason{at: o.to(), text: fmt.Sprintf("%s's lease %s, so for %s, from %s to %s, both could rely on %s.",
		a.Process, end, at(o.to()-o.from()), at(o.from()), at(o.to()), a.Key)})
	return steps
}

// granted says when and by whose votes a lease was granted, and the last
// extension of it up to a time, if there was one.
func (r *run) granted(l *history.Lease, until time.Duration) []reason {
	e := r.lookup()
	g := l.Grants[0]
	voters := r.voters(l)
	steps := []reason{{at: g.At, text: fmt.Sprintf("At %s %s was granted %s, valid until %s, %s.",
		at(g.At), l.Process, l.Key, at(g.Until), r.by(voters, e.voted(l)))}}
	for i, x := range slices.Backward(l.Grants) {
		if i > 0 && x.At <= until && x.Bent {
			steps = append(steps, reason{at: x.At, text: fmt.Sprintf("At %s %s's clock was bent: its lease is valid until %s now.", at(x.At), l.Process, at(x.Until))})
			continue
		}
		if i > 0 && x.At <= until {
			return append(steps, reason{at: x.At, text: fmt.Sprintf("At %s %s's lease was extended, valid until %s, %s.",
				at(x.At), l.Process, at(x.Until), r.by(r.extenders(l, l.Grants[i-1], x), e.voted(l)))})
		}
	}
	return steps
}

// voters are the masters by whose votes a lease was granted.
func (r *run) voters(l *history.Lease) []string {
	return masters(r.lookup().yes(l, history.CommandSet, l.Invoked, l.Acquired(), r.quorum()))
}

// extenders are the masters by whose votes it was extended, after the grant before.
func (r *run) extenders(l *history.Lease, before, x history.Grant) []string {
	return masters(r.lookup().yes(l, history.CommandExtend, before.At, x.At, r.quorum()))
}

// by names the masters whose votes a grant rests on.
func (r *run) by(voters []string, recorded bool) string {
	if !recorded {
		return "by votes that were not recorded"
	}
	if len(voters) == 0 {
		return "without a single vote"
	}
	s := "by the votes of " + Enumerate(voters)
	if q := r.quorum(); q > 0 && len(voters) < q {
		s += fmt.Sprintf(", fewer than the %d that a quorum needs", q)
	}
	return s
}

// quorum is how many votes a majority needs; 0 if the header does not say.
func (r *run) quorum() int {
	h := &r.h.Header
	switch {
	case h.Quorum > 0:
		return h.Quorum
	case h.Masters > 0:
		return h.Masters/2 + 1
	}
	return 0
}

// thin says which faults kept masters from voting for a lease: the fewer
// voted, the fewer need to forget.
func (r *run) thin(l *history.Lease) []reason {
	var steps []reason
	voters := r.voters(l)
	began := r.attempted(l)
	for _, f := range r.faults {
		if !f.Installed || f.From > l.Acquired() || f.To < began {
			continue
		}
		if len(f.Clients) > 0 && !slices.Contains(f.Clients, l.Process) {
			continue
		}
		var lost []string
		for _, m := range set(f.Masters) {
			if !slices.Contains(voters, m) {
				lost = append(lost, m)
			}
		}
		if len(lost) == 0 || len(voters) == 0 {
			continue
		}
		var text string
		switch f.Name {
		case "partition", "refuse":
			text = fmt.Sprintf("%s was cut off from %s (%s #%d)", l.Process, Enumerate(lost), f.Name, f.ID)
		case "reset":
			text = fmt.Sprintf("%s's connections to %s were broken (reset #%d)", l.Process, Enumerate(lost), f.ID)
		case "pause":
			text = fmt.Sprintf("%s %s paused (pause #%d)", Enumerate(lost), was(lost), f.ID)
		case "slow", "delay":
			text = fmt.Sprintf("%s %s slow to answer (%s #%d)", Enumerate(lost), was(lost), f.Name, f.ID)
		default:
			if !ends(f.Name) {
				continue // a clock or a disk keeps no master from voting
			}
			text = fmt.Sprintf("%s %s (%s #%d)", Enumerate(lost), struck(f.Name, lost), f.Name, f.ID)
		}
		just := ""
		if q := r.quorum(); q > 0 && len(voters) == q {
			just = ", so its quorum was just " + Enumerate(voters)
			if f.Name != "partition" && f.Name != "refuse" {
				just = fmt.Sprintf(", so %s's quorum was just %s", l.Process, Enumerate(voters))
			}
		}
		steps = append(steps, reason{at: f.From, text: fmt.Sprintf("At %s %s%s.", at(f.From), text, just), faults: []int{f.ID}})
	}
	return steps
}

// attempted is when the attempt that a lease came from began: an acquire may have made
// many before it.
func (r *run) attempted(l *history.Lease) time.Duration {
	for v := range r.lookup().of(l) {
		if v.Command == history.CommandSet {
			return v.At - v.Took
		}
	}
	return l.Invoked
}

// explainSections says why two critical sections overlap: one lasted longer
// than its lease, or two leases were held at once.
func (r *run) explainSections(o overlap) []reason {
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

// leaseOverlap finds the overlap of two leases' holds, if there is one.
func (r *run) leaseOverlap(a, b *history.Lease) (overlap, bool) {
	if a == nil || b == nil {
		return overlap{}, false
	}
	both := holds([]*history.Lease{a, b})
	if found := sweep(both); len(found) > 0 {
		return found[0], true
	}
	return overlap{}, false
}

// explainStaleWrite says how a write came to be applied after one of a later lease.
func (r *run) explainStaleWrite(s staleWrite) []reason {
	a, b := s.earlier, s.later
	var steps []reason
	if o, ok := r.leaseOverlap(a, b); ok && o.from() <= s.write.Time {
		steps = r.explainOverlap(o)
	} else {
		steps = append(r.outlived(a, s.write.Time), r.granted(b, 0)...)
	}
	steps = append(steps,
		reason{at: s.after.Time, text: fmt.Sprintf("At %s %s's write of %d was applied%s.", at(s.after.Time), b.Process, s.after.Value.Value, fence(s.after))})
	if sent, ok := r.sent(s.write); ok {
		steps = append(steps, reason{at: sent, text: fmt.Sprintf("At %s %s sent its write of %d.", at(sent), a.Process, s.write.Value.Value)})
	}
	text := fmt.Sprintf("At %s %s's write of %d was applied%s, over that of the later lease", at(s.write.Time), a.Process, s.write.Value.Value, fence(s.write))
	if s.write.Value.Fenced {
		if s.write.Value.Fence < s.after.Value.Fence {
			text += ": the resource took a lower fencing token than one that it had seen"
		} else {
			text += ": the fencing token of the earlier lease is not lower, so the fence could not tell"
		}
	}
	return append(steps, reason{at: s.write.Time, text: text + "."})
}

func fence(apply *history.Op) string {
	if !apply.Value.Fenced {
		return ""
	}
	return fmt.Sprintf(" with the fencing token %d", apply.Value.Fence)
}

// sent is when a client sent the write that was applied.
func (r *run) sent(apply *history.Op) (time.Duration, bool) {
	for i := apply.Index - 1; i >= 0; i-- {
		op := &r.h.Ops[i]
		if op.F == history.FWrite && op.Type == history.Invoke && op.Key == apply.Key && op.Value != nil &&
			op.Value.Token == apply.Value.Token && op.Value.Value == apply.Value.Value && op.Value.Fenced == apply.Value.Fenced {
			return op.Time, true
		}
	}
	return 0, false
}

// explainFence says by whose votes two leases got tokens that do not grow.
func (r *run) explainFence(p fencePair) []reason {
	a, b := p.earlier, p.later
	steps := append(r.granted(a, 0), r.granted(b, 0)...)
	steps = append(steps, r.restarts(a, b)...)
	var both []string
	for _, m := range r.voters(a) {
		if slices.Contains(r.voters(b), m) {
			both = append(both, m)
		}
	}
	if len(both) > 0 {
		steps = append(steps, reason{at: b.Acquired(), text: fmt.Sprintf("Of the masters that gave out the earlier token only %s voted again.", Enumerate(both))})
	}
	return append(steps, reason{at: b.Acquired(), text: fmt.Sprintf("The later lease has the token %d, the earlier one has %d.", b.Fence, a.Fence)})
}

// explainExtension says when an extension was asked for, what stopped its
// client, and who was granted the lock while the lease was over.
func (r *run) explainExtension(x lateExtension) []reason {
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

// explainStuck says how the masters answered the clients that were not granted a
// key, what they stored of it, and what had not healed.
func (r *run) explainStuck(key string, clients []string, from, to time.Duration) []reason {
	var steps []reason
	for _, client := range clients {
		last := map[string]history.Vote{}
		for _, v := range r.lookup().votes {
			if v.Key == key && v.Client == client && v.Command == history.CommandSet && v.At >= from && v.At <= to {
				last[v.Master] = v
			}
		}
		var yes, no, silent []string
		for m, v := range last {
			switch {
			case v.Yes:
				yes = append(yes, m)
			case v.Unknown:
				silent = append(silent, m)
			default:
				no = append(no, m)
			}
		}
		var parts []string
		for _, p := range []struct {
			masters []string
			did     string
		}{{yes, "voted yes"}, {no, "voted no"}, {silent, "did not answer"}} {
			if len(p.masters) > 0 {
				parts = append(parts, Enumerate(set(p.masters))+" "+p.did)
			}
		}
		if len(parts) > 0 {
			steps = append(steps, reason{at: to, text: fmt.Sprintf("In the last attempt of %s before %s, %s.", client, at(to), strings.Join(parts, ", "))})
		}
	}
	byToken := map[string][]string{}
	for m, token := range r.stored(key, to) {
		if token != "" {
			byToken[token] = append(byToken[token], m)
		}
	}
	for _, token := range slices.Sorted(maps.Keys(byToken)) {
		steps = append(steps, reason{at: to, text: fmt.Sprintf("%s last stored %s for %s.", Enumerate(set(byToken[token])), r.owner(key, token), key)})
	}
	for _, l := range slices.Backward(r.leases) {
		if l.Key == key && l.Acquired() < to {
			end := fmt.Sprintf("and never released it; its lease was valid until %s", at(l.Until()))
			if l.ReleaseIndex >= 0 && r.h.Ops[l.ReleaseIndex].F == history.FCrash && l.Released <= to {
				end = fmt.Sprintf("and ended at %s without releasing it", at(l.Released))
			} else if l.ReleaseIndex >= 0 && l.Released <= to {
				end = fmt.Sprintf("and released it at %s", at(l.Released))
			}
			steps = append(steps, reason{at: l.Acquired(), text: fmt.Sprintf("At %s %s was the last to be granted %s %s.", at(l.Acquired()), l.Process, key, end)})
			break
		}
	}
	if h := r.healed(); len(h.gone) > 0 && h.at <= to {
		steps = append(steps, reason{at: h.at, text: fmt.Sprintf("At %s, when the faults had healed, %s had not come back.", at(h.at), Enumerate(set(h.gone)))})
	}
	for _, f := range r.faults {
		if f.Installed && !f.Healed && f.Problem != "" {
			steps = append(steps, reason{at: f.Began, faults: []int{f.ID}, text: fmt.Sprintf("At %s %s #%d struck %s and could not be healed: %s.",
				at(f.Began), f.Name, f.ID, Enumerate(set(append(slices.Clone(f.Masters), f.Clients...))), f.Problem)})
		}
	}
	if len(steps) == 0 {
		steps = append(steps, reason{at: to, text: "Nothing recorded explains it: no master's votes and no unhealed fault."})
	}
	return steps
}

// owner names the client whose lease carries a token.
func (r *run) owner(key, token string) string {
	for _, l := range r.leases {
		if l.Key == key && l.Token == token {
			return "the token of " + l.Process
		}
	}
	return "a token that was granted to no one"
}
