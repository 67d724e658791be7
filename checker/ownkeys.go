package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// ownershipBreach is a command that changed another client's key, or the loss of a key to another
// client.
type ownershipBreach struct {
	by     party
	vote   history.Vote  // the yes that proves it: to a release or extension, or to the next SET
	victim *history.Vote // the yes to the SET that created the key; nil: not known
	set    bool          // the master never said yes to a SET by this party
	lost   bool          // no command was recorded, but the victim's key was lost
}

var OwnKeys = Property{
	Name: "own-keys", Level: "L1",
	Says:  "no one releases or extends another's key",
	Votes: true, ToleratesStalls: true,
	rules: &rules{
		judge: (*run).ownKeys,
		gaps:  []gap{{nil, "no vote for a release or an extension was recorded"}},
	},
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
	t := r.commandLogs()
	var judged, given []time.Duration
	var all []ownershipBreach
	victims := map[int]bool{}
	for _, p := range t.places {
		sets := t.yes[p]
		for x := range t.on(p) {
			for _, vs := range []votes{x.frees, x.extends} {
				for i := range vs.ids {
					if !vs.kind(i).Yes || r.h.Header.Duplicates {
						continue
					}
					v := vs.at(i)
					if !r.counts(v.At) {
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
		for i := 1; i < sets.len(); i++ {
			next := sets.at(i)
			if !r.counts(next.At) {
				continue
			}
			given = append(given, next.At)
			if s, ok := r.takenAway(sets.at(i-1), next); ok && !victims[s.victim.Index] {
				all = append(all, s)
			}
		}
	}
	what := "releases and extensions that were answered yes"
	if r.h.Header.Duplicates {
		judged, what = given, "keys that changed hands"
	}
	if len(judged) == 0 && len(all) == 0 {
		return nil
	}
	byVote := map[int]ownershipBreach{}
	found := make([]Violation, 0, len(all))
	for _, s := range all {
		byVote[s.vote.Index] = s
		v := Violation{Key: s.vote.Key, At: s.vote.At, Until: s.vote.At, Ops: []int{s.vote.Index}, Tokens: []string{s.by.token}, Clients: []string{s.by.client}}
		if s.victim != nil {
			v.Ops = []int{s.victim.Index, s.vote.Index}
			v.Tokens, v.Clients = []string{s.victim.Token, s.by.token}, []string{s.victim.Client, s.by.client}
		}
		found = append(found, v)
	}
	j := &judgement{
		tally: tally{checked: len(judged)}, violations: found, needsSlack: true,
		evidence: r.need(what, judged, moreWork),
		explain:  func(n *narrative) { r.explainOwnershipBreach(n, byVote[n.v.Ops[len(n.v.Ops)-1]]) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("a key was released, extended or lost that was another's, %s: the first at %s on %s", count(t.found, "time", "times"), at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return fmt.Sprintf("none of %s hit another's key, and no key was lost to one", count(t.checked, "release or extension", "releases and extensions"))
		},
	}
	if r.h.Header.Duplicates {
		j.holds = func(t tally) string {
			return fmt.Sprintf("no key was lost to another client, in %s (releases and extensions are not judged: requests came twice here, so a client that was refused may have the key all the same)", count(t.checked, "change of hands", "changes of hands"))
		}
	}
	return j
}

// lastOther returns the last SET of another party that was answered before a time, or nil.
func lastOther(sets votes, who party, before time.Duration) *history.Vote {
	for i := sets.since(before) - 1; i >= 0; i-- {
		if v := sets.at(i); (party{v.Client, v.Token}) != who {
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
func (r *run) hitAnother(x *commandLog, v history.Vote, sets votes) (ownershipBreach, bool) {
	if x.sets.len() == 0 || !answered(x.sets) {
		return ownershipBreach{}, false
	}
	last := lastOther(sets, x.who, sent(v)-r.slack)
	s := ownershipBreach{by: x.who, vote: v, victim: last}
	since := time.Duration(0) // when the client's own key was certainly gone
	if said(x.sets) {
		if last == nil || sent(*last) <= latest(x.sets) {
			return ownershipBreach{}, false
		}
		if r.endedAfter(x.master, sent(*last)-r.slack, v.At) || r.stalledIn(sent(*last), v.At) { // the restart may have restored the key
			return ownershipBreach{}, false
		}
		since = sent(*last)
	} else {
		s.set = true
	}
	if v.Command == history.CommandExtend {
		return s, last != nil && r.stillThere(*last, v)
	}
	// One of the client's own extensions may have created its key again.
	created := x.extends.any(func(e *history.Vote) bool { return (e.Yes || e.Unknown) && e.At >= since && sent(*e) <= v.At })
	return s, !created
}

// stillThere reports whether a master certainly still stored the key of a SET when it executed a
// later command: the TTL was not over, no client had sent a release of it, its client had not
// crashed, and no fault had struck the master.
func (r *run) stillThere(set, v history.Vote) bool {
	from := sent(set) - r.slack
	if ttl := r.h.Header.TTL; ttl <= 0 || v.At > from+ttl || sent(v) <= set.At {
		return false
	}
	for f := range r.replies(history.CommandRelease, set.Master).asked(from, v.At+r.slack) {
		mine := party{f.Client, f.Token} == party{set.Client, set.Token}
		if f.Key == set.Key && (mine || f.Yes || f.Unknown) && f.Index != v.Index {
			return false
		}
	}
	return !r.goneIn(set.Client, from, v.At+r.slack) && !r.restartedIn(set.Master, from, v.At) && !r.bentIn(set.Master, from, v.At) && !r.stalledIn(from, v.At) &&
		!r.toldGone(set, from, v.At+r.slack)
}

// takenAway reports whether a master said yes to SET b although it must still have stored the key
// of SET a.
func (r *run) takenAway(a, b history.Vote) (ownershipBreach, bool) {
	ttl := r.h.Header.TTL
	if a.Client == b.Client && a.Token == b.Token || ttl <= 0 {
		return ownershipBreach{}, false
	}
	// If both were in flight at once, as when held bytes arrive, the answers may come in another
	// order than the SETs: the master may have executed b first, and b's release before a.
	if sent(b) <= a.At {
		return ownershipBreach{}, false
	}
	from := sent(a) - r.slack
	if b.At >= from+ttl {
		return ownershipBreach{}, false
	}
	x := r.commandLogs().byID(logID{place{a.Master, a.Key}, party{a.Client, a.Token}})
	for range x.frees.asked(from, b.At+r.slack) {
		return ownershipBreach{}, false
	}
	switch {
	case b.At > r.end-time.Second: // its release may be missing from the history
	case r.goneIn(a.Client, from, b.At+r.slack):
	case r.restartedIn(a.Master, from, b.At), r.bentIn(a.Master, from, b.At):
	case r.stalledIn(from, b.At):
	case r.toldGone(a, from, b.At+r.slack): // last, because it reads the whole history
	default:
		return ownershipBreach{by: party{b.Client, b.Token}, vote: b, victim: &a, lost: true}, true
	}
	return ownershipBreach{}, false
}

// toldGone reports whether the calls or the changes in the history tell how the key of a SET may have gone, though no vote
// does: its client released the lease by a command that nothing is known about, or the key ended, or somebody else
// ended it. What its own client deleted without a call of release is no excuse: it gave up that command before the SET.
func (r *run) toldGone(set history.Vote, from, to time.Duration) bool {
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		v := op.Value
		switch {
		case op.Key != set.Key || op.Time < from || v == nil:
		case op.F == history.FRelease && op.Type == history.Invoke && op.Process == set.Client && v.Token == set.Token && op.Time <= to:
			return true
		case op.F == history.FChange && op.Process == set.Master && v.Command != "created" && v.Client != set.Client && changed(op) >= from && changed(op) <= to:
			return true
		}
	}
	return false
}

// explainOwnershipBreach explains that a command changed another client's key, or that a key was lost
// to another client.
func (r *run) explainOwnershipBreach(n *narrative, s ownershipBreach) {
	v := n.v
	m, by := s.vote.Master, s.by.client
	did := map[string]string{history.CommandRelease: "released", history.CommandExtend: "extended"}[s.vote.Command]
	if s.victim != nil {
		n.vote(*s.victim)
	}
	n.vote(s.vote)
	switch {
	case s.lost:
		v.Summary = fmt.Sprintf("%s gave %s to %s by %s, though it stored it for %s and the TTL was not over", m, v.Key, other(by, s.victim.Client), at(v.At), s.victim.Client)
		if c := n.lostKey(m, n.leaseOfVote(*s.victim), *s.victim, s.vote); c.explain != nil {
			c.explain([]string{m})
		}
		n.violated(fmt.Sprintf("%s gave %s to %s, %s before the TTL of %s's key was over",
			m, v.Key, other(by, s.victim.Client), at(sent(*s.victim)+r.lifetime(*s.victim)-v.At), s.victim.Client))
	case s.set:
		v.Summary = fmt.Sprintf("%s %s %s on %s by %s, though %s had refused its SET: it was another's key", by, did, v.Key, m, at(v.At), m)
		if x := r.commandLogs().byID(logID{place{m, v.Key}, s.by}); x != nil && x.sets.len() > 0 {
			n.vote(x.sets.at(x.sets.len() - 1))
		}
		n.violated(fmt.Sprintf("%s %s the key for %s, to whose SET it had said no: it was another's key, which violates own keys (L1)", m, did, by))
	default:
		if x := r.commandLogs().byID(logID{place{m, v.Key}, s.by}); x != nil {
			for i := x.sets.len() - 1; i >= 0; i-- {
				if own := x.sets.at(i); own.Yes && own.Index < s.victim.Index {
					n.vote(own)
					if c := n.lostKey(m, n.leaseOfVote(own), own, *s.victim); c.explain != nil {
						c.explain([]string{m})
					}
					break
				}
			}
		}
		v.Summary = fmt.Sprintf("%s %s %s on %s by %s, though its own key there was gone and %s's had been set", by, did, v.Key, m, at(v.At), other(s.victim.Client, by))
		n.violated(fmt.Sprintf("%s %s the key for %s, although it was %s's: SET NX is granted only where no key is stored, which violates own keys (L1)",
			m, did, by, other(s.victim.Client, by)))
	}
}
