package checker

import (
	"fmt"
)

// explainWasted explains that an attempt with a quorum of votes was not granted.
func (r *run) explainWasted(v *Violation, x wasted) {
	var voters []string
	for _, y := range x.yes {
		voters = append(voters, y.Master)
	}
	what := fmt.Sprintf("its acquire failed at %s", at(x.ending.ended))
	if x.ending.err != "" {
		what += ": " + x.ending.err
	}
	if x.again {
		what = "it made another attempt instead of using this one"
	}
	v.Summary = fmt.Sprintf("%s had the votes of %s for %s by %s, and was not granted it", x.who.client, Enumerate(set(voters)), v.Key, at(x.by))
	r.explain(v, []reason{
		{at: x.by, text: fmt.Sprintf("By %s %s had said yes to %s, which is a quorum.", at(x.by), Enumerate(set(voters)), x.who.client)},
		{at: max(x.by, x.ending.ended), text: fmt.Sprintf("Yet %s was not granted %s: %s.", x.who.client, v.Key, what)},
	})
}
