package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockpick/checker"
)

// shortOf is the evidence of which a schedule had too little, if that is all that keeps it
// from proving that the property holds; nil: it is not.
func shortOf(v *checker.Result) *checker.Evidence {
	for i := range v.Evidence {
		if e := &v.Evidence[i]; v.Verdict == checker.Invalid && e.Got < e.Need && strings.HasPrefix(v.Why, fmt.Sprintf("needs %d %s", e.Need, e.What)) {
			return e
		}
	}
	return nil
}

// lacking says why a schedule proves nothing of a property, in words that are the same for
// all schedules that lack the same.
func lacking(v *checker.Result) string {
	if e := shortOf(v); e != nil {
		return fmt.Sprintf("it needs %d %s", e.Need, e.What)
	}
	return cmp.Or(v.Why, "the checker could not decide")
}

// evidenceOf is what a schedule adds to the evidence that a property holds in its case. A
// schedule adds nothing if something else than the amount of evidence is wrong with it, or if
// it had none of one sort: then nothing could have been violated in it.
func evidenceOf(v *checker.Result) []checker.Evidence {
	if v.Verdict != checker.Holds && shortOf(v) == nil {
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
func (p *proof) add(x *shown) {
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

// lacks is the evidence of which there is too little; nil: there is enough. What nothing
// proves lacks everything.
func (p *proof) lacks() *checker.Evidence {
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

// has says what there is.
func (p *proof) has() string {
	var all []string
	for _, e := range p.evidence {
		all = append(all, fmt.Sprintf("%d %s", e.Got, e.What))
	}
	return strings.Join(all, ", ")
}

// needs says what is missing, and what helps.
func needs(e *checker.Evidence) string {
	s := fmt.Sprintf("needs %d %s, got %d", e.Need, e.What, e.Got)
	if e.Help != "" {
		s += ": " + e.Help
	}
	return s
}

// helpInconclusive says what makes schedules prove something, as the end of a sentence.
const helpInconclusive = ": more --clients, a shorter --hold and --keys 1 make for more leases in each"

// helpUntested says what makes a scenario test a property, as the end of a sentence; "":
// nothing is known to.
func helpUntested(p checker.Property) string {
	help := map[string]string{
		checker.FencedWrites.Name: "--fencing", checker.FencingMonotone.Name: "--fencing",
		checker.NoLostUpdate.Name: "--resource cas-mark-first",
		checker.Extension.Name:    "--extend 1", checker.Continuity.Name: "--extend 1",
		checker.HolderLoss.Name:      "--faults client-kill",
		checker.MinorityFailure.Name: "--faults pause --targets minority",
	}[p.Name]
	if help == "" {
		return ""
	}
	return ": try " + help
}
