package checker

import (
	"cmp"
	"fmt"
	"slices"
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

// explainHolds explains that two leases were held at once.
func (r *run) explainHolds(v *Violation, o overlap) {
	got := fmt.Sprintf("%s was granted %s", other(o.later.client, o.earlier.client), v.Key)
	if o.later.from > o.later.lease.Acquired() {
		got = fmt.Sprintf("%s was granted an extension of its lease on %s", o.later.client, v.Key)
	}
	v.Summary = fmt.Sprintf("%s at %s while %s could still rely on it until %s", got, at(v.At), o.earlier.client, at(o.earlier.to))
	r.explain(v, r.explainOverlap(o))
}
