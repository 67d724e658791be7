package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// staleWrite is a write that the guarded resource applied after it had applied
// a write of a lease that was granted later.
type staleWrite struct {
	write, after   *history.Op    // the stale write, and the last write of the later lease before it
	earlier, later *history.Lease // the leases of write and of after
}

// appliedWrites counts the writes that a guarded resource applied and refused.
type appliedWrites struct {
	stale     []staleWrite
	judged    int             // applied writes of known leases
	refused   int             // writes that it refused
	uncertain int             // writes that may be stale: it is uncertain which lease is the later one
	contended []time.Duration // when it applied the writes of contended leases
}

// writes finds the stale writes among the writes that a guarded resource applied, in the order of
// their application: after a write of a lease, the resource must apply no write of an earlier
// lease. A lease is certainly earlier only if it was granted before the attempt of the other began:
// of two concurrent acquires, either may have come first. The acquire of a write's lease decides:
// an extension, even one that revived the lease, does not make the lease later. A write whose token
// no granted lease has cannot be ordered and is left out.
//
// If a token was granted twice, the write counts for the latest lease with the token where the
// write itself may be stale, and for the earliest where another write may be, so that no violation
// rests on a choice between them. No lock is convicted because of a write that is late because the
// machine stood still; but a fence has to refuse such a write, too.
//
// The holder of a re-entrant lock may have acquired it again since: its write counts for its latest lease.
func (r *run) writes(fenced bool) appliedWrites {
	byToken := r.leasesByToken()
	byClient := map[keyClient][]*history.Lease{}
	if r.law.nests() {
		for _, l := range r.leases {
			of := keyClient{l.Key, l.Process}
			byClient[of] = append(byClient[of], l)
		}
	}
	type applied struct {
		lease *history.Lease
		op    *history.Op
	}
	competed := r.contended()
	latest := map[string]applied{} // by key: the last write of the lease whose attempt began last
	var w appliedWrites
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F != history.FApply || op.Value == nil || op.Value.Fenced != fenced {
			continue
		}
		if op.Type == history.Fail && r.counts(op.Time) {
			w.refused++
		}
		if op.Type != history.OK {
			continue
		}
		mine := latestBy(byToken[keyToken{op.Key, op.Value.Token}], op.Index)
		if mine == nil {
			continue
		}
		earliest := r.earliestBy(byToken[keyToken{op.Key, op.Value.Token}], op.Index)
		if r.law.nests() {
			mine = latestBy(byClient[keyClient{op.Key, mine.Process}], op.Index)
		}
		counts := r.counts(op.Time)
		if counts {
			w.judged++
		}
		if counts && competed[mine] {
			w.contended = append(w.contended, op.Time)
		}
		last, wrote := latest[op.Key]
		switch {
		case !wrote || last.lease == mine || last.lease == earliest:
		case r.after(last.lease, mine):
			if _, late := r.excusedLate(mine, op.Time); counts && (fenced || !late) {
				w.stale = append(w.stale, staleWrite{write: op, after: last.op, earlier: mine, later: last.lease})
			}
			continue
		case counts && mine.Acquired() < last.lease.Acquired():
			w.uncertain++
		}
		if !wrote || last.lease == earliest || r.beganBefore(last.lease, earliest) {
			latest[op.Key] = applied{earliest, op}
		}
	}
	return w
}

// keyToken is a token on a key. More than one lease has it only if it was granted twice.
type keyToken struct{ key, token string }

// keyClient is a client of a key.
type keyClient struct{ key, client string }

// leasesByToken returns the leases of each token, in the order of their grants.
func (r *run) leasesByToken() map[keyToken][]*history.Lease {
	found := make(map[keyToken][]*history.Lease, len(r.leases))
	for _, l := range r.leases {
		name := keyToken{l.Key, l.Token}
		found[name] = append(found[name], l)
	}
	return found
}

// latestBy returns the lease that was granted last before a line of the history, or nil.
func latestBy(leases []*history.Lease, index int) *history.Lease {
	var latest *history.Lease
	for _, l := range leases {
		if l.Grants[0].Index < index {
			latest = l
		}
	}
	return latest
}

// earliestBy returns the lease whose attempt began first, among the leases granted before a line of
// the history, or nil.
func (r *run) earliestBy(leases []*history.Lease, index int) *history.Lease {
	var earliest *history.Lease
	for _, l := range leases {
		if l.Grants[0].Index < index && (earliest == nil || r.beganBefore(l, earliest)) {
			earliest = l
		}
	}
	return earliest
}

// beganBefore reports whether the attempt of one lease began before that of another.
func (r *run) beganBefore(a, b *history.Lease) bool {
	began, line := r.begin(a)
	other, otherLine := r.begin(b)
	return began < other || began == other && line < otherLine
}

// noStaleWrite judges L4, at the resource that applies any write.
func (r *run) noStaleWrite() *judgement { return r.staleWrites(r.writes(false), false) }

// fencedWrites judges L5, at the second resource, which refuses a write whose fencing
// token is lower than the highest one that it has seen.
func (r *run) fencedWrites() *judgement {
	if !r.h.Header.Fencing {
		return nil
	}
	return r.staleWrites(r.writes(true), true)
}

func (r *run) staleWrites(w appliedWrites, fenced bool) *judgement {
	if w.judged+w.refused == 0 {
		return nil
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
		tally: tally{checked: w.judged, refused: w.refused, uncertain: w.uncertain}, violations: found,
		evidence: r.need("applied writes of contended leases", w.contended, moreContention),
		explain:  func(v *Violation) { r.explainStaleWrite(v, byWrite[v.Ops[len(v.Ops)-1]]) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s came after a write of a later lease: the first at %s on %s",
				share(t.found, t.checked, "applied writes"), at(first.At), first.Key)
		},
		notes: func(t tally) string {
			notes := ""
			if fenced {
				notes = fmt.Sprintf("; the fence refused %s", count(t.refused, "write", "writes"))
			}
			if t.uncertain > 0 {
				notes += fmt.Sprintf("; of %s it is not certain whose lease is the later one", count(t.uncertain, "write", "writes"))
			}
			return notes
		},
		holds: func(t tally) string {
			return fmt.Sprintf("none of the %s came after a write of a later lease", count(t.checked, "applied write", "applied writes"))
		},
	}
}
