package claims

import (
	"fmt"
	"slices"
	"strings"

	"lockpick/checker"
	"lockpick/search"
)

// evidenceOf is what a schedule adds to the evidence that a property holds in its case. A
// schedule adds nothing if something else than the amount of evidence is wrong with it, or if
// it had none of one sort: then nothing could have been violated in it.
func evidenceOf(v *checker.Result) []checker.Evidence {
	if v.Verdict != checker.Holds && search.ShortOf(v) == nil {
		return nil
	}
	for _, e := range v.Evidence {
		if e.Got == 0 && e.Need > 0 {
			return nil
		}
	}
	return v.Evidence
}

// proof is the evidence of several schedules together that a property holds.
type proof struct {
	schedules int // that add to it
	evidence  []checker.Evidence
}

// add adds a schedule. Each sort of evidence is summed; what is needed is needed once.
func (p *proof) add(x *judgement) {
	if len(x.evidence) == 0 {
		return
	}
	p.schedules++
	for _, e := range x.evidence {
		i := slices.IndexFunc(p.evidence, func(o checker.Evidence) bool { return o.What == e.What })
		if i < 0 {
			p.evidence = append(p.evidence, e)
			continue
		}
		p.evidence[i].Got += e.Got
		p.evidence[i].Need = max(p.evidence[i].Need, e.Need)
	}
}

// missing is the evidence of which there is too little; nil: there is enough. What nothing
// proves lacks everything.
func (p *proof) missing() *checker.Evidence {
	if len(p.evidence) == 0 {
		return &checker.Evidence{What: "schedules that prove something", Need: 1}
	}
	for i := range p.evidence {
		if e := &p.evidence[i]; e.Got < e.Need {
			return e
		}
	}
	return nil
}

// summary says what there is.
func (p *proof) summary() string {
	var all []string
	for _, e := range p.evidence {
		all = append(all, fmt.Sprintf("%d %s", e.Got, e.What))
	}
	return strings.Join(all, ", ")
}
