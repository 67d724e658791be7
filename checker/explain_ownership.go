package checker

import (
	"fmt"

	"lockpick/history"
)

// explainOwnershipBreach explains that a command changed another client's key, or that a key was lost
// to another client.
func (r *run) explainOwnershipBreach(v *Violation, s ownershipBreach) {
	m, by := s.vote.Master, s.by.client
	did := map[string]string{history.CommandRelease: "released", history.CommandExtend: "extended"}[s.vote.Command]
	n := r.narrate(v)
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

// vote adds the request that a vote answers, with only the vote's master.
func (n *narrative) vote(v history.Vote) {
	if a := n.r.requestOf(v); a != nil {
		n.only(a, v.Master)
	}
}

// only adds a request with only one of its masters and that master's answer, as part of the reason.
func (n *narrative) only(a *asked, master string) {
	one := &asked{who: a.who, key: a.key, command: a.command}
	for _, v := range a.votes {
		if v.Master == master {
			one.sent = sent(v)
			one.votes = append(one.votes, v)
		}
	}
	n.request(one, false)
}
