package checker

import (
	"fmt"
	"slices"
)

func (r *run) explainShort(v *Violation, s short, q int) {
	l, g := s.lease, s.grant
	v.Summary = fmt.Sprintf("%s's lease on %s was valid until %s, but from %s on fewer than %d masters stored its token", l.Process, v.Key, at(g.Until), at(s.from), q)
	steps := r.granted(l, g.At)
	steps = append(steps, r.causes(r.masterNames(), func(m string) cause {
		end, ok := s.end[m]
		switch {
		case !ok:
		case s.gone[m]:
			return cause{name: "gone at " + at(end), at: end, say: func(ms []string) string {
				return fmt.Sprintf("At %s %s did not store it any more.", at(end), Enumerate(ms))
			}}
		case end < g.Until:
			return cause{name: "expired at " + at(end), at: end, say: func(ms []string) string {
				return fmt.Sprintf("By %s the key of %s had expired at %s: the last yes to it had come a TTL of %s before.", at(end), l.Process, Enumerate(ms), at(r.h.Header.TTL))
			}}
		}
		return cause{}
	})...)
	steps = append(steps, r.causes(r.masterNames(), func(m string) cause { // why it was gone
		if !s.gone[m] {
			return cause{}
		}
		if c, ok := r.restarted(m, l.Key, l.Token, l.Invoked, s.end[m]); ok {
			return c
		}
		c, _ := r.disturbed(m, l.Invoked, s.end[m])
		return c
	})...)
	for _, f := range r.faults {
		if f.Name == "client-clock" && f.Installed && slices.Contains(f.Clients, l.Process) && f.Began <= g.At && f.To >= l.Invoked {
			steps = append(steps, reason{at: f.From, faults: []int{f.ID}, text: fmt.Sprintf("From %s %s's clock ran at another rate (client-clock #%d).", at(f.From), l.Process, f.ID)})
		}
	}
	r.explain(v, steps)
}
