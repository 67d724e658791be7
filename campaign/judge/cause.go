package judge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
)

// Cause is what some violations of a run have in common: the way in which they came about, and the kinds of faults.
type Cause struct {
	narrative.Cause
	Says       string        `json:"says"`              // a clause
	Without    string        `json:"without,omitempty"` // the assumption that was broken: no lock with leases keeps these levels then
	Count      int           `json:"count"`
	Properties []CauseCount  `json:"properties"`
	Example    *CauseExample `json:"example,omitempty"` // the first that the result has in full; nil: there is none
}

// CauseCount is how many violations of one property have a cause.
type CauseCount struct {
	Property string `json:"property"`
	Level    string `json:"level"`
	Count    int    `json:"count"`
}

// CauseExample is one violation among Result.Verdicts.
type CauseExample struct {
	Property string        `json:"property"`
	Level    string        `json:"level"`
	Key      string        `json:"key"`
	At       time.Duration `json:"at"` // ns
	Summary  string        `json:"summary"`
}

// Uncaused is Cause.How of the violations whose cause was not looked for, because there are too many.
const Uncaused = "not-looked-for"

// causesOf groups violations by their cause. Those for which no broken assumption accounts come first, since the lock is
// to blame for them; then those of the main property, and of the first properties; then the most frequent ones.
func causesOf(h *history.History, results []checker.Result) []Cause {
	var all []Cause
	excuses := newExcuses(h)
	at := map[string]int{}
	add := func(c narrative.Cause, p checker.Property, ids []int, takenOver bool, n int, v *narrative.Violation) {
		without := ""
		if a, ok := excuses.accounts(p.Level, ids, takenOver); ok {
			without = a.Name
		}
		key := strings.Join(append([]string{c.How, without}, c.Faults...), "\n")
		i, known := at[key]
		if !known {
			i, at[key] = len(all), len(all)
			says := cmp.Or(c.Says(), "broken, and no earlier event to blame: "+p.Says)
			if c.How == Uncaused {
				says = "more violations, whose cause was not looked for"
			}
			all = append(all, Cause{Cause: c, Says: says, Without: without})
		}
		g := &all[i]
		g.Count += n
		if j := slices.IndexFunc(g.Properties, func(x CauseCount) bool { return x.Property == p.Name }); j >= 0 {
			g.Properties[j].Count += n
		} else {
			g.Properties = append(g.Properties, CauseCount{p.Name, p.Level, n})
		}
		if v != nil && g.Example == nil {
			g.Example = &CauseExample{p.Name, p.Level, v.Key, v.At, v.Summary}
		}
	}
	for _, p := range byImportance(results) {
		more := p.Count - len(p.Violations)
		for i := range p.Violations {
			v := &p.Violations[i]
			add(v.Cause(), p.Property, v.Faults, v.TakenOver(), 1, v)
		}
		for _, m := range p.Others {
			if m.Cause.How == "" {
				break
			}
			more--
			add(m.Cause, p.Property, m.Faults, m.TakenOver, 1, nil)
		}
		if more > 0 {
			add(narrative.Cause{How: Uncaused}, p.Property, nil, false, more, nil)
		}
	}
	slices.SortStableFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(importance(a.Properties[0].Property), importance(b.Properties[0].Property)), cmp.Compare(b.Count, a.Count))
	})
	return all
}

func (c *Cause) rank() int {
	switch {
	case c.How == Uncaused:
		return 2
	case c.Without != "":
		return 1
	}
	return 0
}

// importance is 0 for the main property, and else the position of a property among all.
func importance(property string) int {
	if checker.Named(property).Main {
		return 0
	}
	return 1 + slices.IndexFunc(checker.Properties, func(p checker.Property) bool { return p.Name == property })
}

// byImportance returns the violated results, the main property first.
func byImportance(results []checker.Result) []checker.Result {
	violated := slices.DeleteFunc(slices.Clone(results), func(r checker.Result) bool { return r.Verdict != checker.Violated })
	slices.SortStableFunc(violated, func(a, b checker.Result) int { return cmp.Compare(importance(a.Name), importance(b.Name)) })
	return violated
}
