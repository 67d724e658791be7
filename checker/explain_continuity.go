package checker

import (
	"fmt"
)

func (r *run) explainRevival(v *Violation, x revival) {
	l := x.lease
	v.Summary = fmt.Sprintf("%s's lease on %s was extended at %s though its key was gone from a quorum's masters meanwhile", l.Process, v.Key, at(v.At))
	steps := []reason{{at: x.before.At, text: fmt.Sprintf("At %s %s had a lease on %s that was valid until %s.", at(x.before.At), l.Process, l.Key, at(x.before.Until))}}
	steps = append(steps, r.causes(r.masterNames(), func(m string) cause {
		if u, ok := x.taken[m]; ok {
			return cause{name: "taken by " + u.Token, at: u.At, say: func(ms []string) string {
				return fmt.Sprintf("By %s %s had set the key for %s: that of %s was gone.", at(u.At), Enumerate(ms), other(u.Client, l.Process), l.Process)
			}}
		}
		if look := x.missed[m]; look != nil {
			return cause{name: "missed at " + at(look.Time), at: look.Time, say: func(ms []string) string {
				return fmt.Sprintf("At %s %s did not store it.", at(look.Time), Enumerate(ms))
			}}
		}
		if u, ok := x.lapsed[m]; ok {
			end := u.At + r.h.Header.TTL
			return cause{name: "lapsed at " + at(end), at: end, say: func(ms []string) string {
				return fmt.Sprintf("By %s the key of %s had expired at %s.", at(end), l.Process, Enumerate(ms))
			}}
		}
		return cause{}
	})...)
	steps = append(steps, reason{at: x.grant.At, text: fmt.Sprintf("At %s the extension was granted, %s, and so the key was created anew.", at(x.grant.At), r.by(r.extenders(l, x.before, x.grant), true))})
	r.explain(v, steps)
}
