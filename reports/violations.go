package reports

import (
	"cmp"
	"slices"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/checker/narrative"
)

// listed is a violation as the page lists it.
type listed struct {
	narrative.Violation
	Property string
	Number   int  // on the page, from 0, in order of time
	First    bool // firstViolation returns it
}

// listViolations lists the violations of all properties in order of time.
func listViolations(r *judge.Result) []listed {
	explained := firstViolation(r)
	var all []listed
	for _, v := range inOrder(r.Verdicts) {
		for i := range v.Violations {
			all = append(all, listed{Violation: v.Violations[i], Property: v.Name, First: explained == &v.Violations[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b listed) int { return cmp.Compare(a.At, b.At) })
	for i := range all {
		all[i].Number = i
	}
	return all
}

// unexplained is a violation that is drawn without its reason.
type unexplained struct {
	checker.Mark
	Kind int // position of its property
}

// listMarks lists the violations without a reason in order of time, and their properties.
func listMarks(r *judge.Result) (properties []checker.Property, marks []unexplained) {
	for _, v := range inOrder(r.Verdicts) {
		if len(v.Others) == 0 {
			continue
		}
		for _, m := range v.Others {
			marks = append(marks, unexplained{m, len(properties)})
		}
		properties = append(properties, v.Property)
	}
	slices.SortStableFunc(marks, func(a, b unexplained) int { return cmp.Compare(a.At, b.At) })
	return properties, marks
}

// Violation returns the violation with this number, counted from 1 in order of time, and how many
// the result lists; v is nil if there is none with this number. Number 0 means the violation that
// the reports explain.
func Violation(r *judge.Result, number int) (v *narrative.Violation, all int) {
	listed := listViolations(r)
	for i := range listed {
		if listed[i].Number+1 == number || number == 0 && listed[i].First {
			v = &listed[i].Violation
		}
	}
	return v, len(listed)
}

// found counts the violations, listed or not.
func found(r *judge.Result) int {
	n := 0
	for _, v := range r.Verdicts {
		n += max(v.Count, len(v.Violations))
	}
	return n
}
