package checker

import (
	"fmt"

	"lockpick/history"
)

func (r *run) explainTrespass(v *Violation, s trespass) {
	m, by := s.vote.Master, s.by.client
	did := map[string]string{history.CommandRelease: "released", history.CommandExtend: "extended"}[s.vote.Command]
	var steps []reason
	if s.victim != nil {
		steps = append(steps, reason{at: s.victim.At, text: fmt.Sprintf("By %s %s had set the key of %s for %s.", at(s.victim.At), m, v.Key, s.victim.Client)})
	}
	switch {
	case s.lost:
		v.Summary = fmt.Sprintf("%s gave %s to %s by %s, though it stored it for %s and the TTL was not over", m, v.Key, other(by, s.victim.Client), at(v.At), s.victim.Client)
		steps = append(steps, reason{at: v.At, text: fmt.Sprintf("By %s it had set it for %s: %s's key was gone, %s before its TTL of %s was over. Its client had not released it, and no recorded fault explains it.",
			at(v.At), other(by, s.victim.Client), s.victim.Client, at(sent(*s.victim)+r.h.Header.TTL-v.At), at(r.h.Header.TTL))})
		for _, x := range r.trails().byPlace[place{m, v.Key}] {
			for _, f := range x.frees {
				own := x.who == party{s.victim.Client, s.victim.Token}
				switch {
				case !f.Yes && !f.Unknown, x.who == s.by:
				case own && f.Unknown && f.At < sent(*s.victim):
					steps = append(steps, reason{at: sent(f), text: fmt.Sprintf("At %s %s had sent %s a release of the same token, for an earlier SET, which was never answered.", at(sent(f)), x.who.client, m)})
				case !own && f.At >= sent(*s.victim) && sent(f) <= v.At:
					steps = append(steps, reason{at: sent(f), text: fmt.Sprintf("At %s %s had sent %s a release of a token of its own.", at(sent(f)), x.who.client, m)})
				}
			}
		}
	case s.set:
		v.Summary = fmt.Sprintf("%s %s %s on %s by %s, though %s had refused its SET: it was another's key", by, did, v.Key, m, at(v.At), m)
		steps = append(steps, reason{at: v.At, text: fmt.Sprintf("By %s %s had %s the key for %s, to whose SET it had said no.", at(v.At), m, did, by)})
	default:
		v.Summary = fmt.Sprintf("%s %s %s on %s by %s, though its own key there was gone and %s's had been set", by, did, v.Key, m, at(v.At), other(s.victim.Client, by))
		steps = append(steps, reason{at: v.At, text: fmt.Sprintf("By %s %s had %s the key for %s, which was asked at %s: it was not %s's any more, or SET NX would not have been granted.", at(v.At), m, did, by, at(sent(s.vote)), by)})
	}
	r.explain(v, steps)
}
