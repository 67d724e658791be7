package campaign

import (
	"cmp"

	"lockpick/checker"
)

// lacking says why a schedule proves nothing of a property.
func lacking(v *checker.Result) string { return cmp.Or(v.Why, "the checker could not decide") }

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
