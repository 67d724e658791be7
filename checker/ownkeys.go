package checker

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/internal/plural"
)

// ownershipBreach is a command that changed another client's key, or the loss of a key to another
// client.
type ownershipBreach struct {
	by     facts.Party
	vote   history.Vote  // the yes that proves it: to a release or extension, or to the next SET
	victim *history.Vote // the yes to the SET that created the key; nil: not known
	set    bool          // the master never said yes to a SET by this party
	lost   bool          // no command was recorded, but the victim's key was lost
}

var OwnKeys = Property{
	Name: "own-keys", Level: "L1", Says: "no one releases or extends another's key", Votes: true, ToleratesStalls: true, Reported: true,
	rules: &rules{judge: (*run).ownKeys, gaps: []gap{{nil, "no vote for a release or an extension was recorded"}}},
}

// ownKeys judges one part of L1: no client releases or extends another client's key.
//
// A yes to a release or an extension shows that the master found the key. The key was not the
// client's own if the master had refused the client's SET, or if all its SETs were answered and
// the master had since said yes to the SET NX of another client: by then the first key was gone.
// A key was taken away if its master granted the lock to another client before the TTL was over,
// unless the key's own client released it or crashed, or the master was restarted, or a fault
// changed the master's clock or memory, or the history says by what it went.
//
// If the network may duplicate requests, the duplicate of a refused SET may have been granted, so
// only keys that were taken away are judged.
func (r *run) ownKeys() *judgement {
	t := r.CommandLogs()
	var judged, given []time.Duration
	var all []ownershipBreach
	victims := map[int]bool{}
	for _, p := range t.Places {
		sets := t.Granted[p]
		for x := range t.On(p) {
			for _, vs := range []facts.Votes{x.Releases, x.Extensions} {
				for i := range vs.IDs {
					if !vs.Kind(i).Yes || r.History.Header.Duplicates {
						continue
					}
					v := vs.At(i)
					if !r.InWindow(v.At) {
						continue
					}
					judged = append(judged, v.At)
					if s, ok := r.hitAnother(x, v, sets); ok {
						all = append(all, s)
						if s.victim != nil {
							victims[s.victim.Index] = true
						}
					}
				}
			}
		}
		for i := 1; i < sets.Len(); i++ {
			next := sets.At(i)
			if !r.InWindow(next.At) {
				continue
			}
			given = append(given, next.At)
			if s, ok := r.takenAway(sets.At(i-1), next); ok && !victims[s.victim.Index] {
				all = append(all, s)
			}
		}
	}
	what := "releases and extensions that were answered yes"
	if r.History.Header.Duplicates {
		judged, what = given, "keys that changed hands"
	}
	if len(judged) == 0 && len(all) == 0 {
		return nil
	}
	var found []proven
	for _, s := range all {
		v := narrative.Violation{Key: s.vote.Key, At: s.vote.At, Until: s.vote.At, Ops: []int{s.vote.Index}, Tokens: []string{s.by.Token}, Clients: []string{s.by.Client}}
		if s.victim != nil {
			v.Ops = []int{s.victim.Index, s.vote.Index}
			v.Tokens, v.Clients = []string{s.victim.Token, s.by.Token}, []string{s.victim.Client, s.by.Client}
		}
		found = append(found, proven{v, func(n *narrative.Narrative) { r.explainOwnershipBreach(n, s) }})
	}
	j := &judgement{
		tally: tally{checked: len(judged)}, violations: found, needsSlack: true,
		evidence: r.need(what, judged, MoreWork),
		violated: func(t tally, first *narrative.Violation) string {
			return fmt.Sprintf("a key was released, extended or lost that was another's, %s: the first at %s on %s", plural.Count(t.found, "time", "times"), narrative.At(first.At), first.Key)
		},
		holds: allOf("none of %s hit another's key, and no key was lost to one", "release or extension", "releases and extensions"),
	}
	if r.History.Header.Duplicates {
		j.holds = func(t tally) string {
			return fmt.Sprintf("no key was lost to another client, in %s (releases and extensions are not judged: requests came twice here, so a client that was refused may have the key all the same)", plural.Count(t.checked, "change of hands", "changes of hands"))
		}
	}
	return j
}

// lastOther returns the last SET of another party that was answered before a time, or nil.
func lastOther(sets facts.Votes, who facts.Party, before time.Duration) *history.Vote {
	for i := sets.CountBefore(before) - 1; i >= 0; i-- {
		if v := sets.At(i); (facts.Party{Client: v.Client, Token: v.Token}) != who {
			return &v
		}
	}
	return nil
}

// hitAnother reports whether a yes to a release or extension was about another client's key.
//
// A yes to a release says that the master deleted a key: if that cannot have been the client's own
// key, it was another client's. A yes to an extension may also have created a missing key, so it is
// a violation only while another client's key was certainly stored.
func (r *run) hitAnother(x *facts.CommandLog, v history.Vote, sets facts.Votes) (ownershipBreach, bool) {
	if x.Sets.Len() == 0 || x.Sets.Any(func(v *history.Vote) bool { return !v.Yes && !v.Refused() }) {
		return ownershipBreach{}, false
	}
	last := lastOther(sets, x.Party, facts.Sent(v)-r.Slack)
	s := ownershipBreach{by: x.Party, vote: v, victim: last}
	since := time.Duration(0) // when the client's own key was certainly gone
	if x.Sets.AnyYes() {
		if last == nil || facts.Sent(*last) <= x.Sets.LastAnswer() {
			return ownershipBreach{}, false
		}
		if r.EndedAfter(x.Master, facts.Sent(*last)-r.Slack, v.At) || r.StalledIn(facts.Sent(*last), v.At) { // the restart may have restored the key
			return ownershipBreach{}, false
		}
		since = facts.Sent(*last)
	} else {
		s.set = true
	}
	if v.Command == history.CommandExtend {
		return s, last != nil && r.stillThere(*last, v)
	}
	// One of the client's own extensions may have created its key again, one that it gave up at any later time.
	created := x.Extensions.Any(func(e *history.Vote) bool { return !e.Refused() && (!e.Yes || e.At >= since) && facts.Sent(*e) <= v.At })
	return s, !created
}

// stillThere reports whether a master certainly still stored the key of a SET when it executed a
// later command: the TTL was not over, no client had sent a release of it, its client had not
// crashed, and no fault had struck the master.
func (r *run) stillThere(set, v history.Vote) bool {
	from := facts.Sent(set) - r.Slack
	if ttl := r.History.Header.TTL; ttl <= 0 || v.At > from+ttl || facts.Sent(v) <= set.At {
		return false
	}
	for f := range r.Replies(history.CommandRelease, set.Master).InFlight(from, v.At+r.Slack) {
		mine := facts.Party{Client: f.Client, Token: f.Token} == facts.Party{Client: set.Client, Token: set.Token}
		if f.Key == set.Key && (mine || !f.Refused()) && f.Index != v.Index {
			return false
		}
	}
	return !r.CrashedIn(set.Client, from, v.At+r.Slack) && !r.RestartedIn(set.Master, from, v.At) && !r.DisturbedIn(set.Master, from, v.At) && !r.StalledIn(from, v.At) &&
		!r.toldGone(set, from, v.At+r.Slack)
}

// takenAway reports whether a master said yes to SET b although it must still have stored the key
// of SET a.
func (r *run) takenAway(a, b history.Vote) (ownershipBreach, bool) {
	ttl := r.History.Header.TTL
	if a.Client == b.Client && a.Token == b.Token || ttl <= 0 {
		return ownershipBreach{}, false
	}
	// If both were in flight at once, as when held bytes arrive, the answers may come in another
	// order than the SETs: the master may have executed b first, and b's release before a.
	if facts.Sent(b) <= a.At {
		return ownershipBreach{}, false
	}
	from := facts.Sent(a) - r.Slack
	if b.At >= from+ttl {
		return ownershipBreach{}, false
	}
	x := r.CommandLogs().ByID(facts.LogID{Place: facts.Place{Master: a.Master, Key: a.Key}, Party: facts.Party{Client: a.Client, Token: a.Token}})
	for range x.Releases.InFlight(from, b.At+r.Slack) {
		return ownershipBreach{}, false
	}
	switch {
	case b.At > r.End-time.Second: // its release may be missing from the history
	case r.CrashedIn(a.Client, from, b.At+r.Slack):
	case r.RestartedIn(a.Master, from, b.At), r.DisturbedIn(a.Master, from, b.At):
	case r.StalledIn(from, b.At):
	case r.toldGone(a, from, b.At+r.Slack): // last, because it reads the whole history
	default:
		return ownershipBreach{by: facts.Party{Client: b.Client, Token: b.Token}, vote: b, victim: &a, lost: true}, true
	}
	return ownershipBreach{}, false
}

// toldGone reports whether the calls or the changes in the history tell how the key of a SET may have gone, though no vote
// does: its client released the lease by a command that nothing is known about, or the key ended, or somebody else
// ended it. What its own client deleted without a call of release is not an excuse: it gave up that command before the SET.
func (r *run) toldGone(set history.Vote, from, to time.Duration) bool {
	for _, op := range r.History.All() {
		v := op.Value
		switch {
		case op.Key != set.Key || op.Time < from || v == nil:
		case op.F == history.FRelease && op.Type == history.Invoke && op.Process == set.Client && v.Token == set.Token && op.Time <= to:
			return true
		case op.F == history.FChange && op.Process == set.Master && v.Command != "created" && v.Client != set.Client && facts.ChangedAt(op) >= from && facts.ChangedAt(op) <= to:
			return true
		}
	}
	return false
}

// explainOwnershipBreach explains that a command changed another client's key, or that a key was lost
// to another client.
func (r *run) explainOwnershipBreach(n *narrative.Narrative, s ownershipBreach) {
	v := n.Violation
	m, breaker := s.vote.Master, s.by.Client
	did := map[string]string{history.CommandRelease: "released", history.CommandExtend: "extended"}[s.vote.Command]
	if s.victim != nil {
		n.VoteOf(*s.victim)
	}
	n.VoteOf(s.vote)
	switch {
	case s.lost:
		v.Summary = fmt.Sprintf("%s gave %s to %s by %s, though it stored it for %s and the TTL was not over", m, v.Key, narrative.Again(breaker, s.victim.Client), narrative.At(v.At), s.victim.Client)
		if c := n.LostKey(m, n.LeaseOfVote(*s.victim), *s.victim, s.vote); c.Explain != nil {
			c.Explain([]string{m})
		}
		n.Violated(fmt.Sprintf("%s gave %s to %s, %s before the TTL of %s's key was over",
			m, v.Key, narrative.Again(breaker, s.victim.Client), narrative.At(facts.Sent(*s.victim)+r.Lifetime(*s.victim)-v.At), s.victim.Client))
	case s.set:
		v.Summary = fmt.Sprintf("%s %s %s on %s by %s, though %s had refused its SET: it was another's key", breaker, did, v.Key, m, narrative.At(v.At), m)
		if x := r.CommandLogs().ByID(facts.LogID{Place: facts.Place{Master: m, Key: v.Key}, Party: s.by}); x != nil && x.Sets.Len() > 0 {
			n.VoteOf(x.Sets.At(x.Sets.Len() - 1))
		}
		n.Violated(fmt.Sprintf("%s %s the key for %s, to whose SET it had said no: it was another's key, which violates own keys (L1)", m, did, breaker))
	default:
		if x := r.CommandLogs().ByID(facts.LogID{Place: facts.Place{Master: m, Key: v.Key}, Party: s.by}); x != nil {
			for i := x.Sets.Len() - 1; i >= 0; i-- {
				if own := x.Sets.At(i); own.Yes && own.Index < s.victim.Index {
					n.VoteOf(own)
					if c := n.LostKey(m, n.LeaseOfVote(own), own, *s.victim); c.Explain != nil {
						c.Explain([]string{m})
					}
					break
				}
			}
		}
		v.Summary = fmt.Sprintf("%s %s %s on %s by %s, though its own key there was gone and %s's had been set", breaker, did, v.Key, m, narrative.At(v.At), narrative.Again(s.victim.Client, breaker))
		n.Violated(fmt.Sprintf("%s %s the key for %s, although it was %s's: SET NX is granted only where no key is stored, which violates own keys (L1)",
			m, did, breaker, narrative.Again(s.victim.Client, breaker)))
	}
}
