package search

import (
	"cmp"
	"fmt"
	"strings"

	"lockpick/checker"
)

// ShortOf returns the evidence of which a schedule had too little, if only that keeps it from
// proving that the property holds; otherwise nil.
func ShortOf(v *checker.Result) *checker.Evidence {
	for i := range v.Evidence {
		if e := &v.Evidence[i]; v.Verdict == checker.Invalid && e.Got < e.Need && strings.HasPrefix(v.Why, fmt.Sprintf("needs %d %s", e.Need, e.What)) {
			return e
		}
	}
	return nil
}

// lacking says why a schedule proves nothing about a property, with the same text for all
// schedules that lack the same.
func lacking(v *checker.Result) string {
	if e := ShortOf(v); e != nil {
		return fmt.Sprintf("it needs %d %s", e.Need, e.What)
	}
	return cmp.Or(v.Why, "the checker could not decide")
}

// Needs says what is missing, and what helps.
func Needs(e *checker.Evidence) string {
	s := fmt.Sprintf("needs %d %s, got %d", e.Need, e.What, e.Got)
	if e.Help != "" {
		s += ": " + e.Help
	}
	return s
}

// helpInconclusive says what makes schedules prove something, for the end of a sentence.
const helpInconclusive = ": more --clients, a shorter --hold and --keys 1 make for more leases in each"

// helpUntested says what makes a scenario test a property, for the end of a sentence; "":
// unknown.
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

// Counted formats a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
