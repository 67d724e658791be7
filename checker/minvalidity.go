package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
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

var MinValidity = Property{
	Name: "min-validity", Level: "L1", Says: "while a lease is relied on, a quorum of masters stores its token", Title: "a quorum keeps the key",
	Votes: true, ToleratesStalls: true, Reported: true,
	rules: &rules{judge: (*run).minValidity, gaps: []gap{{promisesNoTime, "the leases of this lock promise no time"}, {nil, "no vote on a lease was recorded"}}},
}

// minValidity judges one part of L1: as long as a client relies on a lease, a quorum of
// masters stores its token ("MIN_VALIDITY", distlock, "Safety arguments").
//
// A master that said yes stores the token for at most a TTL after its answer, and only until it
// refuses an extension or a snapshot does not list the token. A master may execute an unanswered
// command at any time, so it counts as storing the token. So does a master that answered a SET of
// an earlier acquire with the same token after this acquire was called.
func (r *run) minValidity() *judgement {
	q, ttl := r.Quorum(), r.History.Header.TTL
	if q == 0 || ttl <= 0 || r.History.Header.Until == history.UntilReleased { // leases without an end promise no time
		return nil
	}
	var judged []time.Duration
	var found []proven
	for _, l := range r.Leases {
		if !r.VoteIndex().Voted(l) {
			continue
		}
		for i, g := range l.Grants {
			until := g.Until
			if i+1 < len(l.Grants) {
				until = min(until, max(l.Grants[i+1].At, g.At)) // from then on the next grant is judged
			}
			relied := min(until, l.Over())
			if g.Skewed || g.Endless() || relied <= g.At || !r.InWindow(g.At) {
				continue
			}
			judged = append(judged, g.At)
			if s, ok := r.shortOf(l, g, relied, q, ttl); ok {
				found = append(found, proven{onLeases(s.from, max(s.until, s.from), []int{g.Index}, l), func(n *narrative.Narrative) { r.explainShort(n, s, q) }})
				break // later grants rest on this one
			}
		}
	}
	if len(judged) == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: len(judged)}, violations: found, needsSlack: true,
		evidence: r.need("grants with recorded votes", judged, MoreWork),
		violated: firstOf("grants", "were valid while "+fewer(q)+" stored the token"),
		holds:    allOf("as far as was seen, a quorum stored the token of each of %s as long as its client relied on it", "grant", "grants"),
	}
}

// shortOf reports whether fewer than a quorum of masters can have stored a lease's token until the
// end of a grant. A snapshot or a refusal counts only while the client relied on the lease.
func (r *run) shortOf(l *history.Lease, g history.Grant, relied time.Duration, q int, ttl time.Duration) (short, bool) {
	s := short{lease: l, grant: g, until: relied, end: map[string]time.Duration{}, gone: map[string]bool{}}
	t := r.CommandLogs()
	may := 0
	for _, m := range r.Masters() {
		x := t.ByID(facts.LogID{Place: facts.Place{Master: m, Key: l.Key}, Party: facts.Party{Client: l.Process, Token: l.Token}})
		if x == nil {
			continue
		}
		end, last, unknown, yes := time.Duration(0), time.Duration(0), false, false
		for _, vs := range []facts.Votes{x.Sets, x.Extensions} {
			for v := range vs.InFlight(l.Invoked-r.Slack, g.At+r.Slack) {
				switch {
				case v.Yes:
					yes, end, last = true, max(end, v.At+cmp.Or(v.TTL, ttl)), max(last, v.At)
				case !v.Refused():
					unknown = true
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
		if snapshot := t.SnapshotWithout(facts.Place{Master: m, Key: l.Key}, l.Token, last, min(end, relied)); snapshot != nil {
			end = snapshot.Ended()
			s.gone[m] = true
		}
		if no := refused(x.Extensions, last, min(end, relied)); no != nil {
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
	for _, m := range r.Masters() {
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
func refused(extends facts.Votes, from, to time.Duration) *history.Vote {
	for v := range extends.InFlight(from, to) {
		if v.Refused() && facts.Sent(v) > from && v.At < to {
			return &v
		}
	}
	return nil
}

// explainShort explains that a lease was valid while fewer than a quorum of masters stored its
// token: when each master lost the key, and why.
func (r *run) explainShort(n *narrative.Narrative, s short, q int) {
	v := n.Violation
	l, g := s.lease, s.grant
	v.Summary = fmt.Sprintf("%s's lease on %s was valid until %s, but from %s on %s stored its token", l.Process, v.Key, narrative.At(g.Until), narrative.At(s.from), fewer(q))
	n.Lease(l, g.At)
	var holders []string
	narrative.EachLoss(r.Masters(), func(m string) narrative.Loss {
		end, ok := s.end[m]
		switch {
		case !ok:
		case s.gone[m]:
			return narrative.Loss{Name: fmt.Sprint("gone ", m), Explain: func(ms []string) {
				r.explainVanished(n, m, s, end)
			}}
		case end < g.Until:
			return narrative.Loss{Name: "expired at " + narrative.At(end), Explain: func(ms []string) {
				ttl := r.History.Header.TTL
				n.LostBy(ms, l, narrative.Event{At: end, Cause: narrative.CauseExpired, Word: "expired",
					Text: fmt.Sprintf("the key of %s expired on %s: the last yes to it came by %s, and its TTL was %s", l.Process, fault.Enumerate(ms), narrative.At(end-ttl), narrative.At(ttl))}, "")
			}}
		default:
			holders = append(holders, m)
		}
		return narrative.Loss{}
	})
	rest := "no master stored the token"
	if len(holders) > 0 {
		rest = "only " + fault.Enumerate(holders) + " can have stored the token"
	}
	n.Violated(fmt.Sprintf("from %s to %s %s, fewer than a quorum of %d, and %s's lease was valid until %s",
		narrative.At(s.from), narrative.At(max(s.until, s.from)), rest, q, l.Process, narrative.At(g.Until)))
}

// explainVanished adds that a snapshot of a master lacked a key before the key's TTL was over, and why.
func (r *run) explainVanished(n *narrative.Narrative, m string, s short, when time.Duration) {
	l := s.lease
	t := r.CommandLogs()
	snapshot := t.SnapshotWithout(facts.Place{Master: m, Key: l.Key}, l.Token, l.Invoked, when+1)
	if snapshot != nil && snapshot.Time == when {
		n.Add(narrative.Event{At: when, Kind: narrative.EventSnapshot, Masters: []string{m}, Client: l.Process, Key: l.Key, Word: "gone", Ops: []int{snapshot.Index},
			Text: fmt.Sprintf("%s did not store the key of %s any more", m, l.Process)})
	}
	x := t.ByID(facts.LogID{Place: facts.Place{Master: m, Key: l.Key}, Party: facts.Party{Client: l.Process, Token: l.Token}})
	if x == nil {
		return
	}
	var yes *history.Vote
	for _, vs := range []facts.Votes{x.Sets, x.Extensions} {
		for v := range vs.All() {
			if v.Yes && v.At <= when && (yes == nil || v.At > yes.At) {
				yes = &v
			}
		}
	}
	if yes == nil {
		return
	}
	next := *yes // the next event is the snapshot without the key
	next.Index, next.At, next.Took, next.Token, next.Client = narrative.NoLine, when, 0, "", "no one"
	if snapshot != nil {
		next.Index = snapshot.Index
	}
	if c := n.LostKey(m, l, *yes, next); c.Explain != nil {
		c.Explain([]string{m})
	}
}

// fewer words how many masters are too few.
func fewer(quorum int) string {
	if quorum == 1 {
		return "no master"
	}
	return fmt.Sprintf("fewer than %d masters", quorum)
}
