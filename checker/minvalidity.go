package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// short is a grant that promises validity for longer than a quorum of masters stores the token.
type short struct {
	lease *history.Lease
	grant history.Grant
	from  time.Duration            // when the masters that stored the token became fewer than a quorum
	until time.Duration            // the grant's end, or the release
	end   map[string]time.Duration // by master that had said yes: when it no longer stored the key
	gone  map[string]bool          // the masters whose snapshot or refusal shows that
}

// minValidity judges one part of L1: as long as a client relies on a lease, a quorum of
// masters stores its token ("MIN_VALIDITY", distlock, "Safety arguments").
//
// A master that said yes stores the token for at most a TTL after its answer, and only until it
// refuses an extension or a snapshot does not list the token. A master may execute an unanswered
// command at any time, so it counts as storing the token. So does a master that answered a SET of
// an earlier acquire with the same token after this acquire was called.
func (r *run) minValidity() *judgement {
	q, ttl := r.quorum(), r.h.Header.TTL
	if q == 0 || ttl <= 0 || r.h.Header.Until == history.UntilReleased { // leases without an end promise no time
		return nil
	}
	var judged []time.Duration
	byGrant := map[int]short{}
	var found []Violation
	for _, l := range r.leases {
		if !r.lookup().voted(l) {
			continue
		}
		for i, g := range l.Grants {
			until := g.Until
			if i+1 < len(l.Grants) {
				until = min(until, max(l.Grants[i+1].At, g.At)) // from then on the next grant is judged
			}
			relied := min(until, l.Over())
			if g.Bent || g.Endless() || relied <= g.At || !r.counts(g.At) {
				continue
			}
			judged = append(judged, g.At)
			if s, ok := r.shortOf(l, g, relied, q, ttl); ok {
				byGrant[g.Index] = s
				found = append(found, Violation{Key: l.Key, At: s.from, Until: max(s.until, s.from), Ops: []int{g.Index}, Tokens: []string{l.Token}, Clients: []string{l.Process}})
				break // later grants rest on this one
			}
		}
	}
	if len(judged) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: len(judged)}, violations: found, needsSlack: true,
		evidence: r.need("grants with recorded votes", judged, moreWork),
		explain:  func(v *Violation) { r.explainShort(v, byGrant[v.Ops[0]], q) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s were valid while fewer than %d masters stored the token: the first at %s on %s", share(t.found, t.checked, "grants"), q, at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return fmt.Sprintf("as far as was seen, a quorum stored the token of each of %s as long as its client relied on it", count(t.checked, "grant", "grants"))
		},
	}
}

// shortOf reports whether fewer than a quorum of masters can have stored a lease's token until the
// end of a grant. A snapshot or a refusal counts only while the client relied on the lease.
func (r *run) shortOf(l *history.Lease, g history.Grant, relied time.Duration, q int, ttl time.Duration) (short, bool) {
	s := short{lease: l, grant: g, until: relied, end: map[string]time.Duration{}, gone: map[string]bool{}}
	t := r.commandLogs()
	may := 0
	for _, m := range r.masterNames() {
		x := t.byID(logID{place{m, l.Key}, party{l.Process, l.Token}})
		if x == nil {
			continue
		}
		end, last, unknown, yes := time.Duration(0), time.Duration(0), false, false
		for _, vs := range []votes{x.sets, x.extends} {
			for v := range vs.asked(l.Invoked-r.slack, g.At+r.slack) {
				switch {
				case v.Unknown:
					unknown = true
				case v.Yes:
					yes, end, last = true, max(end, v.At+cmp.Or(v.TTL, ttl)), max(last, v.At)
				}
			}
		}
		if unknown {
			may++
			continue
		}
		if !yes {
			continue
		}
		if snapshot := t.missed(place{m, l.Key}, l.Token, last, min(end, relied)); snapshot != nil {
			end = snapshotEnded(snapshot)
			s.gone[m] = true
		}
		if no := refused(x.extends, last, min(end, relied)); no != nil {
			end = no.At
			s.gone[m] = true
		}
		// The grant promises validity until its end, even if the client releases earlier.
		if !s.gone[m] && end+time.Millisecond >= g.Until {
			may++
		}
		s.end[m] = end
	}
	if may >= q {
		return s, false
	}
	// Find the moment at which fewer than a quorum are left.
	ends := make([]time.Duration, 0, len(s.end))
	for _, m := range r.masterNames() {
		if end, ok := s.end[m]; ok && (s.gone[m] || end+time.Millisecond < g.Until) {
			ends = append(ends, max(end, g.At))
		}
	}
	slices.Sort(ends)
	s.from = g.At
	if n := may + len(ends) - q; n >= 0 && n < len(ends) {
		s.from = ends[n]
	}
	s.until = max(g.Until, s.from)
	return s, true
}

// refused returns the first extension that was sent and refused between two times, or nil: a
// master that refuses an extension does not store the token.
func refused(extends votes, from, to time.Duration) *history.Vote {
	for v := range extends.asked(from, to) {
		if v.Refused() && sent(v) > from && v.At < to {
			return &v
		}
	}
	return nil
}

// masterNames returns m1, m2, …, as many as the header says.
func (r *run) masterNames() []string {
	return r.names.get(func() (names []string) {
		for i := range r.h.Header.Masters {
			names = append(names, fmt.Sprintf("m%d", i+1))
		}
		return names
	})
}
