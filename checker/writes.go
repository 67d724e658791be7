package checker

import (
	"fmt"

	"lockpick/history"
)

// staleWrite is a write that the guarded resource applied after it had applied
// one of a lease that was granted later.
type staleWrite struct {
	write, after   *history.Op    // the stale write, and the last one of the later lease before it
	earlier, later *history.Lease // of the stale write, and of the other
}

// writes goes through the writes that a guarded resource applied, in the order
// in which it did, and returns the stale ones: after a write of a lease, it must
// apply none of a lease granted before that one. A lease ranks by its acquire:
// an extension, even one that revived it, makes it no younger. applied counts
// the writes judged, refused those that the resource turned down; a write whose
// token no granted lease carries can not be ranked and is left out.
func (r *run) writes(fenced bool) (stale []staleWrite, applied, refused int) {
	type owner struct{ key, token string }
	rank := make(map[owner]int, len(r.leases))
	for i, l := range r.leases {
		o := owner{l.Key, l.Token}
		if _, twice := rank[o]; !twice { // of leases with one token, the earliest: the charitable reading
			rank[o] = i
		}
	}
	type newest struct {
		rank int
		op   *history.Op
	}
	latest := map[string]newest{}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F != history.FApply || op.Value == nil || op.Value.Fenced != fenced {
			continue
		}
		if op.Type == history.Fail {
			refused++
		}
		if op.Type != history.OK {
			continue
		}
		mine, known := rank[owner{op.Key, op.Value.Token}]
		if !known {
			continue
		}
		applied++
		if last, wrote := latest[op.Key]; wrote && mine < last.rank {
			stale = append(stale, staleWrite{write: op, after: last.op, earlier: r.leases[mine], later: r.leases[last.rank]})
			continue
		}
		latest[op.Key] = newest{mine, op}
	}
	return stale, applied, refused
}

// noStaleWrite judges L4, by the resource that takes any write.
func (r *run) noStaleWrite() *Result {
	stale, applied, refused := r.writes(false)
	if applied+refused == 0 {
		return nil
	}
	return r.staleWrites(NoStaleWrite, stale, applied, "")
}

// fencedWrites judges L5, by the twin resource that refuses a write whose
// fencing token is lower than one that it has seen.
func (r *run) fencedWrites() *Result {
	if !r.h.Header.Fencing {
		return nil
	}
	stale, applied, refused := r.writes(true)
	if applied+refused == 0 {
		return nil
	}
	return r.staleWrites(FencedWrites, stale, applied, fmt.Sprintf("; the fence refused %s", count(refused, "write", "writes")))
}

func (r *run) staleWrites(p Property, stale []staleWrite, applied int, refused string) *Result {
	found := make([]Violation, 0, len(stale))
	byWrite := map[int]staleWrite{}
	for _, s := range stale {
		byWrite[s.write.Index] = s
		found = append(found, Violation{
			Key: s.write.Key, At: s.write.Time, Until: s.write.Time,
			Ops:     []int{s.earlier.Grants[0].Index, s.later.Grants[0].Index, s.after.Index, s.write.Index},
			Tokens:  []string{s.earlier.Token, s.later.Token},
			Clients: []string{s.earlier.Process, s.later.Process},
		})
	}
	res := result(p, applied, found, func(v *Violation) { r.explainStaleWrite(v, byWrite[v.Ops[len(v.Ops)-1]]) })
	if len(found) > 0 {
		res.Why = fmt.Sprintf("%s came after a write of a later lease: the first at %s on %s",
			share(len(found), applied, "applied writes"), at(res.Violations[0].At), res.Key) + refused
		return res
	}
	res.Why = fmt.Sprintf("none of the %s came after a write of a later lease", count(applied, "applied write", "applied writes")) + refused + r.tried()
	r.requireEvidence(res)
	return res
}
