package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// lateExtension is an extension that was granted when the lease was over.
type lateExtension struct {
	lease  *history.Lease
	before history.Grant // what was valid until then
	grant  history.Grant
}

// extension judges EXT: an extension is granted only while the lease that it
// extends is valid, so it returned at or before the end of that validity
// ("within the validity time", distlock on extending a lock). What was lost in
// between may have been someone else's. A run without a granted extension says
// nothing of it.
func (r *run) extension() *Result {
	granted := 0
	var late []lateExtension
	for _, l := range r.leases {
		for i, g := range l.Grants[1:] {
			if g.Bent {
				continue
			}
			granted++
			if before := l.Grants[i]; g.At > before.Until {
				late = append(late, lateExtension{l, before, g})
			}
		}
	}
	if granted == 0 {
		return nil
	}
	found := make([]Violation, 0, len(late))
	byGrant := map[int]lateExtension{}
	for _, x := range late {
		byGrant[x.grant.Index] = x
		found = append(found, Violation{
			Key: x.lease.Key, At: x.grant.At, Until: x.grant.At,
			Ops:    []int{x.before.Index, x.grant.Index},
			Tokens: []string{x.lease.Token}, Clients: []string{x.lease.Process},
		})
	}
	res := result(Extension, granted, found, func(v *Violation) {
		x := byGrant[v.Ops[1]]
		v.Summary = fmt.Sprintf("%s was told at %s that its lease on %s was extended, %s after it had ended",
			x.lease.Process, at(v.At), v.Key, at(x.grant.At-x.before.Until))
		r.explain(v, r.explainExtension(x))
	})
	if len(found) > 0 {
		res.Why = fmt.Sprintf("%s came when the lease was over: the first at %s on %s",
			share(len(found), granted, "granted extensions"), at(res.Violations[0].At), res.Key)
		return res
	}
	res.Why = fmt.Sprintf("%s granted while the lease was valid", count(granted, "extension was", "extensions were")) + r.tried()
	return res
}

// asked is when the operation that ended in the line at index began.
func (r *run) asked(index int) (time.Duration, bool) {
	done := &r.h.Ops[index]
	for i := index - 1; i >= 0; i-- {
		op := &r.h.Ops[i]
		if op.Process == done.Process && op.F == done.F && op.Type == history.Invoke {
			return op.Time, true
		}
	}
	return 0, false
}
