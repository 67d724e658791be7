package checker

import (
	"fmt"
)

func (r *run) explainOrphan(v *Violation, o orphan) {
	x := o.trail
	v.Summary = fmt.Sprintf("%s still stored a token of %s for %s at %s, %s after it had done with it", x.master, x.who.client, v.Key, at(v.Until), at(v.Until-o.over))
	said := "was never answered"
	if answered(x.sets) {
		said = "was answered by " + at(latest(x.sets))
	}
	steps := []reason{{at: sent(x.sets[0]), text: fmt.Sprintf("At %s %s sent %s its SET, which %s.", at(sent(x.sets[0])), x.who.client, x.master, said)}}
	over := fmt.Sprintf("At %s its attempt was over.", at(o.over))
	if o.lease {
		over = fmt.Sprintf("At %s its lease had been released.", at(o.over))
	}
	steps = append(steps, reason{at: o.over, text: over})
	last := latest(x.frees)
	switch o.kind {
	case "unsent":
		steps = append(steps, reason{at: o.over, text: fmt.Sprintf("It never sent %s a release.", x.master)})
	case "undone", "late":
		steps = append(steps, reason{at: last, text: fmt.Sprintf("By %s %s had answered its release.", at(last), x.master)})
	case "unheard":
		why := ""
		if e := x.frees[len(x.frees)-1].Error; e != "" {
			why = ": " + e
		}
		steps = append(steps, reason{at: last, text: fmt.Sprintf("By %s its release had got no answer of %s, though no recorded fault was on it or on the way%s.", at(last), x.master, why)})
	}
	steps = append(steps, reason{at: o.look.Time, text: fmt.Sprintf("At %s %s said that it stored the token.", at(o.look.Time), x.master)})
	r.explain(v, steps)
}
