package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// revival is an extension that was granted by masters which had not stored the token
// without a break since the grant before it.
type revival struct {
	lease         *history.Lease
	before, grant history.Grant
	whole         []string                // masters that may have stored it all the time
	taken         map[string]history.Vote // that had granted the key to another meanwhile
	lapsed        map[string]history.Vote // whose key had expired meanwhile, since that vote
	missed        map[string]*history.Op  // that were looked at and did not store it
}

// continuity judges EXT: what an extension prolongs has never been gone. A master that
// said yes to the extension and had said yes to the SET of another since, or to nothing
// for longer than the TTL, has created the key anew. If without those masters no quorum
// is left, the lease was dead and is alive again.
func (r *run) continuity() *Result {
	q, ttl := r.quorum(), r.h.Header.TTL
	if q == 0 || ttl <= 0 {
		return nil
	}
	judged := 0
	var all []revival
	for _, l := range r.leases {
		for i, g := range l.Grants[1:] {
			asked, ok := r.asked(g.Index)
			if g.Bent || !ok {
				continue
			}
			voted, x := r.unbroken(l, l.Grants[i], g, asked, ttl)
			if voted < q {
				continue // that is for the other property of extensions
			}
			judged++
			if len(x.whole) < q {
				all = append(all, x)
			}
		}
	}
	if judged == 0 {
		return nil
	}
	found := make([]Violation, 0, len(all))
	byGrant := map[int]revival{}
	for _, x := range all {
		byGrant[x.grant.Index] = x
		found = append(found, Violation{Key: x.lease.Key, At: x.grant.At, Until: x.grant.At, Ops: []int{x.before.Index, x.grant.Index},
			Tokens: []string{x.lease.Token}, Clients: []string{x.lease.Process}})
	}
	res := result(Continuity, judged, found, func(v *Violation) { r.explainRevival(v, byGrant[v.Ops[1]]) })
	if len(found) > 0 {
		res.Why = fmt.Sprintf("%s revived a key that had been gone: the first at %s on %s", share(len(found), judged, "extensions"), at(res.Violations[0].At), res.Key)
		return res
	}
	res.Why = fmt.Sprintf("none of %s revived a key that had been gone", count(judged, "extension", "extensions")) + r.tried()
	r.requireEvidence(res)
	return res
}

// unbroken finds out which of the masters that may have said yes to an extension may have
// stored the token all the time.
func (r *run) unbroken(l *history.Lease, before, g history.Grant, asked, ttl time.Duration) (voted int, x revival) {
	x = revival{lease: l, before: before, grant: g, taken: map[string]history.Vote{}, lapsed: map[string]history.Vote{}, missed: map[string]*history.Op{}}
	t := r.trails()
	for _, m := range r.masterNames() {
		p := place{m, l.Key}
		mine := t.byID[trailID{p, party{l.Process, l.Token}}]
		if mine == nil {
			continue
		}
		var yes, earlier *history.Vote
		unknown := false
		for _, votes := range [][]history.Vote{mine.sets, mine.extends} {
			for i := range votes {
				v := &votes[i]
				switch now := v.Command == history.CommandExtend && v.At >= asked && sent(*v) <= g.At+voteSlack; {
				case now && v.Unknown, !now && v.Unknown && v.At <= g.At:
					unknown = true
				case now && v.Yes && yes == nil:
					yes = v
				case v.Yes && v.At < asked && (earlier == nil || v.At > earlier.At):
					earlier = v
				}
			}
		}
		if unknown {
			voted++
			x.whole = append(x.whole, m)
			continue
		}
		if yes == nil {
			continue
		}
		voted++
		if earlier == nil || r.stalledIn(earlier.At, yes.At) {
			x.whole = append(x.whole, m)
			continue
		}
		u := lastOther(t.yes[p], mine.who, sent(*yes)-voteSlack)
		missed := t.missed(p, l.Token, earlier.At, sent(*yes)-voteSlack)
		switch { // a restart may bring back what was gone before it
		case u != nil && sent(*u) > earlier.At && !r.endedAfter(m, sent(*u)-voteSlack, yes.At):
			x.taken[m] = *u
		case missed != nil && !r.endedAfter(m, missed.Time-missed.Value.Took, yes.At):
			x.missed[m] = missed
		case r.restartedIn(m, sent(*earlier), yes.At):
			x.whole = append(x.whole, m)
		case sent(*yes) > earlier.At+ttl+ttl/50+voteSlack && !r.bentIn(m, sent(*earlier), yes.At):
			x.lapsed[m] = *earlier
		default:
			x.whole = append(x.whole, m)
		}
	}
	return voted, x
}
