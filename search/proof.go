package search

import (
	"fmt"
	"slices"
	"strings"

	"lockpick/checker"
)

// EvidenceOf is what a schedule adds to the evidence that a property holds. A schedule adds
// nothing if something else than the amount of evidence is wrong with it, or if it had none
// of one sort: then nothing could have been violated in it.
func EvidenceOf(v *checker.Result) []checker.Evidence {
	if v.Verdict != checker.Holds && ShortOf(v) == nil {
		return nil
	}
	for _, e := range v.Evidence {
		if e.Got == 0 && e.Need > 0 {
			return nil
		}
	}
	return v.Evidence
}

// Proof is the evidence of several schedules together that a property holds.
type Proof struct {
	Schedules int // that add to it
	Evidence  []checker.Evidence
}

// Add adds the evidence of a schedule (EvidenceOf). Each sort of evidence is summed; what is
// needed is needed once.
func (p *Proof) Add(evidence []checker.Evidence) {
	if len(evidence) == 0 {
		return
	}
	p.Schedules++
	for _, e := range evidence {
		i := slices.IndexFunc(p.Evidence, func(o checker.Evidence) bool { return o.What == e.What })
		if i < 0 {
			p.Evidence = append(p.Evidence, e)
			continue
		}
		p.Evidence[i].Got += e.Got
		p.Evidence[i].Need = max(p.Evidence[i].Need, e.Need)
	}
}

// Missing is the evidence of which there is too little; nil: there is enough. What nothing
// proves lacks everything.
func (p *Proof) Missing() *checker.Evidence {
	if len(p.Evidence) == 0 {
		return &checker.Evidence{What: "schedules that prove something", Need: 1}
	}
	for i := range p.Evidence {
		if e := &p.Evidence[i]; e.Got < e.Need {
			return e
		}
	}
	return nil
}

// Summary says what there is.
func (p *Proof) Summary() string {
	var all []string
	for _, e := range p.Evidence {
		all = append(all, fmt.Sprintf("%d %s", e.Got, e.What))
	}
	return strings.Join(all, ", ")
}
