package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// lostUpdate is a write that was applied though the value that it was computed from had
// been replaced: what replaced it is lost.
type lostUpdate struct {
	write, lost *history.Op    // the write, and the one that it was computed without
	from        *history.Op    // what its client knew: its read, or its own write before
	mine, other *history.Lease // of the write, and of the lost one; nil if unknown
}

// updates goes through the writes that a resource with compare-and-set applied, in the
// order in which it did. Each is the end of a read-modify-write, which is atomic in effect
// if the value that it was computed from is the one that it replaces. A client computes
// from what it last read under its token, or wrote itself.
//
// Values tell that, and not the times at which reads were recorded: those of a workload
// are all different. Where two are the same, nobody is convicted. A write whose client had
// read nothing is no update: it may replace what it likes, and be lost itself.
func (r *run) updates() (lost []lostUpdate, contended []time.Duration, judged, refused int) {
	competed := r.contended()
	type reader struct{ key, token string }
	leases := map[reader]*history.Lease{}
	for _, l := range r.leases {
		if of := (reader{l.Key, l.Token}); leases[of] == nil {
			leases[of] = l
		}
	}
	knows := map[reader]*history.Op{}
	latest := map[string]*history.Op{}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.Value == nil || op.Value.Fenced {
			continue
		}
		of := reader{op.Key, op.Value.Token}
		switch {
		case op.F == history.FRead && op.Type == history.OK:
			knows[of] = op
		case op.F == history.FApply && op.Type == history.Fail:
			refused++
		case op.F == history.FApply && op.Type == history.OK:
			from, before := knows[of], latest[op.Key]
			knows[of], latest[op.Key] = op, op
			if from == nil {
				continue
			}
			judged++
			if l := leases[of]; l != nil && competed[l] {
				contended = append(contended, op.Time)
			}
			if before != nil && from.Value.Value != before.Value.Value {
				lost = append(lost, lostUpdate{write: op, lost: before, from: from, mine: leases[of], other: leases[reader{op.Key, before.Value.Token}]})
			}
		}
	}
	return lost, contended, judged, refused
}

// noLostUpdate judges RMW, at a resource with compare-and-set.
func (r *run) noLostUpdate() *judgement {
	if r.h.Header.Resource == "" {
		return nil
	}
	lost, contended, judged, refused := r.updates()
	if judged+refused == 0 {
		return nil
	}
	found := make([]Violation, 0, len(lost))
	byWrite := map[int]lostUpdate{}
	for _, u := range lost {
		byWrite[u.write.Index] = u
		found = append(found, r.violation(u))
	}
	return &judgement{
		checked: judged, violations: found,
		evidence: r.need("updates under contended leases", contended, moreContention),
		explain: func(v *Violation) {
			u := byWrite[v.Ops[len(v.Ops)-1]]
			v.Summary = fmt.Sprintf("a write of %s to %s was applied at %s though %s had replaced the value that it was computed from: that update is lost",
				u.client(), v.Key, at(v.At), u.loser())
			r.explain(v, r.explainLostUpdate(u))
		},
		violated: func(first *Violation) string {
			return fmt.Sprintf("%s were computed from a value that another had replaced: the first at %s on %s",
				share(len(found), judged, "updates"), at(first.At), first.Key)
		},
		holds: fmt.Sprintf("none of the %s was computed from a value that another had replaced", count(judged, "update", "updates")),
		notes: fmt.Sprintf("; the comparison refused %s", count(refused, "write", "writes")),
	}
}

// violation is what proves a lost update: the grants, what its client knew, the write that
// is lost, the mark that had the comparison succeed, and the write.
func (r *run) violation(u lostUpdate) Violation {
	v := Violation{Key: u.write.Key, At: u.write.Time, Until: u.write.Time}
	leases := slices.DeleteFunc([]*history.Lease{u.other, u.mine}, func(l *history.Lease) bool { return l == nil })
	slices.SortStableFunc(leases, func(a, b *history.Lease) int { return int(a.Acquired() - b.Acquired()) })
	for _, l := range leases {
		v.Ops = append(v.Ops, l.Grants[0].Index)
		v.Tokens = append(v.Tokens, l.Token)
		v.Clients = append(v.Clients, l.Process)
	}
	more := []int{u.from.Index, u.lost.Index}
	if m := r.marked(u.write); m != nil {
		more = append(more, m.Index)
	}
	slices.Sort(more)
	v.Ops = append(append(v.Ops, more...), u.write.Index)
	return v
}

// client is whose write it is, as far as is known, and loser whose update is lost.
func (u lostUpdate) client() string { return holder(u.mine) }
func (u lostUpdate) loser() string  { return other(holder(u.other), u.client()) }

func holder(l *history.Lease) string {
	if l == nil {
		return "an unknown client"
	}
	return l.Process
}

// marked is the last time before a write at which its token was put into the resource.
func (r *run) marked(write *history.Op) *history.Op {
	for i := write.Index - 1; i >= 0; i-- {
		op := &r.h.Ops[i]
		if op.F == history.FMark && op.Key == write.Key && op.Value != nil && op.Value.Token == write.Value.Token {
			return op
		}
	}
	return nil
}

// explainLostUpdate says what a write was computed from and when, what replaced that, why
// the comparison let the write pass, and how two clients came to write at all.
func (r *run) explainLostUpdate(u lostUpdate) []reason {
	steps := r.bothWrote(u)
	knew := fmt.Sprintf("At %s %s read %d.", at(u.from.Time), u.client(), u.from.Value.Value)
	if u.from.F == history.FApply {
		knew = fmt.Sprintf("At %s %s's write of %d was applied.", at(u.from.Time), u.client(), u.from.Value.Value)
	}
	steps = append(steps, reason{at: u.from.Time, text: knew})
	for _, x := range []struct {
		write *history.Op
		who   string
	}{{u.lost, holder(u.other)}, {u.write, u.client()}} {
		if m := r.marked(x.write); m != nil {
			steps = append(steps, reason{at: m.Time, text: fmt.Sprintf("At %s %s put its token into the resource.", at(m.Time), x.who)})
		}
	}
	passed := "no token of its client was ever put into the resource, which should have refused it"
	if m := r.marked(u.write); m != nil {
		passed = "its token was put there only after that, so the comparison could not tell"
		if m.Index < u.lost.Index {
			passed = "its token had been put there before that: the resource should have refused one of the two"
		}
	}
	return append(steps,
		reason{at: u.lost.Time, text: fmt.Sprintf("At %s %s's write of %d was applied.", at(u.lost.Time), holder(u.other), u.lost.Value.Value)},
		reason{at: u.write.Time, text: fmt.Sprintf("At %s %s's write of %d was applied, computed from %d: %s's update to %d is lost; %s.",
			at(u.write.Time), u.client(), u.write.Value.Value, u.from.Value.Value, holder(u.other), u.lost.Value.Value, passed)})
}

// bothWrote says how two clients came to write under leases of which at most one was to be
// held at a time.
func (r *run) bothWrote(u lostUpdate) []reason {
	if u.mine == nil || u.other == nil || u.mine == u.other {
		return nil
	}
	if o, ok := r.leaseOverlap(u.mine, u.other); ok && o.from() <= u.write.Time {
		return r.explainOverlap(o)
	}
	earlier, later, acted := u.mine, u.other, u.write.Time
	if u.other.Acquired() < u.mine.Acquired() {
		earlier, later, acted = u.other, u.mine, u.lost.Time
	}
	if endBefore(earlier, acted) >= acted { // it wrote in time; what it lost or was lost came later
		return append(r.granted(earlier, acted), r.granted(later, 0)...)
	}
	return append(r.outlived(earlier, acted), r.granted(later, 0)...)
}
