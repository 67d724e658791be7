package search

import (
	"fmt"
	"slices"
	"strings"

	"lockpick/checker"
)

// EvidenceOf returns what a schedule adds to the evidence that a property holds. It returns nil if the
// verdict is neither holds nor short of evidence alone, or if one needed sort of evidence is absent: then the
// schedule could not have violated the property.
func EvidenceOf(v *checker.Result) []checker.Evidence {
	if v.Verdict != checker.Holds && v.Short == nil {
		return nil
	}
	for _, e := range v.Evidence {
		if e.Got == 0 && e.Need > 0 {
			return nil
		}
	}
	return v.Evidence
}

// Proof sums the evidence of several schedules that a property holds.
type Proof struct {
	Schedules int // number of schedules that add evidence
	Evidence  []checker.Evidence
}

// Add adds the evidence of a schedule (see EvidenceOf). The amounts of each sort are summed; the need stays
// that of one schedule.
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

// Missing returns the first sort of evidence with too little, or nil if there is enough. A proof without any
// evidence lacks one schedule that proves something.
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

// Summary lists the amount of each sort of evidence.
func (p *Proof) Summary() string {
	var all []string
	for _, e := range p.Evidence {
		all = append(all, fmt.Sprintf("%d %s", e.Got, e.What))
	}
	return strings.Join(all, ", ")
}

// Counted returns the results of a series' schedules that count, if those after the schedule stop are not necessary;
// nil: one that is necessary was not tried. Simulated schedules after stop do not count, because it depends on the number of
// workers which of them were tried. On real masters every schedule that was tried counts: several run at the same time, and
// a later one may show a violation before an earlier one has enough evidence that the property holds.
func Counted[T any](all []*T, stop int, real bool) []*T {
	counted := slices.Clone(all[:stop+1])
	if real {
		for _, t := range all[stop+1:] {
			if t != nil {
				counted = append(counted, t)
			}
		}
	}
	return counted
}
