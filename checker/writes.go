package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// staleWrite is a write that the guarded resource applied after it had applied
// one of a lease that was granted later.
type staleWrite struct {
	write, after   *history.Op    // the stale write, and the last one of the later lease before it
	earlier, later *history.Lease // of the stale write, and of the other
}

// appliedWrites is what a guarded resource did with the writes that it was sent.
type appliedWrites struct {
	stale     []staleWrite
	judged    int             // writes that it applied, of known leases
	refused   int             // that it turned down
	uncertain int             // that may be stale: whose lease is the later one is not certain
	contended []time.Duration // when it applied those of contended leases
}

// writes goes through the writes that a guarded resource applied, in the order in which
// it did: after a write of a lease it must apply none of an earlier one. Whether a lease is
// earlier is certain only if the attempt of the other began after it had been granted: of
// two acquires that ran at once, either may have come first. A write ranks by the acquire
// of its lease: an extension, even one that revived it, makes it no younger. A write whose
// token no granted lease carries cannot be ranked and is left out.
func (r *run) writes(fenced bool) appliedWrites {
	type owner struct{ key, token string }
	byToken := make(map[owner]*history.Lease, len(r.leases))
	for _, l := range r.leases {
		o := owner{l.Key, l.Token}
		if byToken[o] == nil { // of leases with one token, the earliest: the charitable reading for what comes after
			byToken[o] = l
		}
	}
	type applied struct {
		lease *history.Lease
		op    *history.Op
	}
	competed := r.contended()
	latest := map[string]applied{} // by key: of the lease whose attempt began last
	var w appliedWrites
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F != history.FApply || op.Value == nil || op.Value.Fenced != fenced {
			continue
		}
		if op.Type == history.Fail {
			w.refused++
		}
		if op.Type != history.OK {
			continue
		}
		mine := byToken[owner{op.Key, op.Value.Token}]
		if mine == nil {
			continue
		}
		w.judged++
		if competed[mine] {
			w.contended = append(w.contended, op.Time)
		}
		last, wrote := latest[op.Key]
		switch {
		case !wrote || last.lease == mine:
		case r.after(last.lease, mine):
			w.stale = append(w.stale, staleWrite{write: op, after: last.op, earlier: mine, later: last.lease})
			continue
		case mine.Acquired() < last.lease.Acquired():
			w.uncertain++
		}
		if !wrote || r.beganBefore(last.lease, mine) {
			latest[op.Key] = applied{mine, op}
		} else if last.lease == mine {
			latest[op.Key] = applied{mine, op}
		}
	}
	return w
}

// beganBefore says whether the attempt of one lease began before that of another.
func (r *run) beganBefore(a, b *history.Lease) bool {
	began, line := r.begin(a)
	other, otherLine := r.begin(b)
	return began < other || began == other && line < otherLine
}

// noStaleWrite judges L4, by the resource that takes any write.
func (r *run) noStaleWrite() *judgement { return r.staleWrites(r.writes(false), "") }

// fencedWrites judges L5, by the resource beside it that refuses a write whose
// fencing token is lower than one that it has seen.
func (r *run) fencedWrites() *judgement {
	if !r.h.Header.Fencing {
		return nil
	}
	w := r.writes(true)
	return r.staleWrites(w, fmt.Sprintf("; the fence refused %s", count(w.refused, "write", "writes")))
}

func (r *run) staleWrites(w appliedWrites, notes string) *judgement {
	if w.judged+w.refused == 0 {
		return nil
	}
	if w.uncertain > 0 {
		notes += fmt.Sprintf("; of %s it is not certain whose lease is the later one", count(w.uncertain, "write", "writes"))
	}
	found := make([]Violation, 0, len(w.stale))
	byWrite := map[int]staleWrite{}
	for _, s := range w.stale {
		byWrite[s.write.Index] = s
		found = append(found, Violation{
			Key: s.write.Key, At: s.write.Time, Until: s.write.Time,
			Ops:     []int{s.earlier.Grants[0].Index, s.later.Grants[0].Index, s.after.Index, s.write.Index},
			Tokens:  []string{s.earlier.Token, s.later.Token},
			Clients: []string{s.earlier.Process, s.later.Process},
		})
	}
	return &judgement{
		checked: w.judged, violations: found, notes: notes,
		evidence: r.need("applied writes of contended leases", w.contended, moreContention),
		explain: func(v *Violation) {
			s := byWrite[v.Ops[len(v.Ops)-1]]
			v.Summary = fmt.Sprintf("a write of %s to %s was applied at %s, after one of %s, whose lease is the later one",
				s.earlier.Process, v.Key, at(v.At), other(s.later.Process, s.earlier.Process))
			r.explain(v, r.explainStaleWrite(s))
		},
		violated: func(first *Violation) string {
			return fmt.Sprintf("%s came after a write of a later lease: the first at %s on %s",
				share(len(found), w.judged, "applied writes"), at(first.At), first.Key)
		},
		holds: fmt.Sprintf("none of the %s came after a write of a later lease", count(w.judged, "applied write", "applied writes")),
	}
}
