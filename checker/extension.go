package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// lateExtension is an extension that was granted when the lease was over, or without a
// quorum.
type lateExtension struct {
	lease  *history.Lease
	before history.Grant // what was valid until then
	grant  history.Grant
	few    bool // it was in time, but fewer than a quorum of masters can have said yes
}

// extension judges EXT: an extension is granted only while the lease that it
// extends is valid, so it returned at or before the end of that validity
// ("within the validity time", distlock on extending a lock). What was lost in
// between may have been someone else's. And a quorum of masters said yes to it. A run without a granted extension says nothing of it.
func (r *run) extension() *Result {
	granted := 0
	var late []lateExtension
	for _, l := range r.leases {
		for i, g := range l.Grants[1:] {
			if g.Bent {
				continue
			}
			granted++
			switch before := l.Grants[i]; {
			case g.At > before.Until:
				late = append(late, lateExtension{l, before, g, false})
			case r.fewExtended(l, g):
				late = append(late, lateExtension{l, before, g, true})
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
	res := result(Extension, granted, found, func(v *Violation) { r.explainExtension(v, byGrant[v.Ops[1]]) })
	if len(found) > 0 {
		why := "came when the lease was over"
		if slices.ContainsFunc(late, func(x lateExtension) bool { return x.few }) {
			why = "came when the lease was over or without a quorum"
		}
		res.Why = fmt.Sprintf("%s %s: the first at %s on %s", share(len(found), granted, "granted extensions"), why, at(res.Violations[0].At), res.Key)
		return res
	}
	res.Why = fmt.Sprintf("%s granted while the lease was valid", count(granted, "extension was", "extensions were")) + r.tried()
	return res
}

// fewExtended says whether fewer than a quorum of masters can have said yes to an
// extension: all others said no, or had not answered when they were given up. Whose vote
// was not recorded may have said yes.
func (r *run) fewExtended(l *history.Lease, g history.Grant) bool {
	asked, ok := r.asked(g.Index)
	if !ok {
		return false
	}
	yes, others := map[string]bool{}, map[string]bool{}
	for v := range r.lookup().of(l) {
		if v.Command != history.CommandExtend || v.At < asked || sent(v) > g.At+voteSlack {
			continue
		}
		if v.Yes {
			yes[v.Master] = true
		} else {
			others[v.Master] = true
		}
	}
	unheard := 0
	for _, m := range r.masterNames() {
		if !yes[m] && !others[m] {
			unheard++
		}
	}
	return len(yes)+len(others) > 0 && len(yes)+unheard < r.quorum() && !r.stalledIn(asked, g.At+voteSlack)
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
