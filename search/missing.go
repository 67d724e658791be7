package search

import (
	"cmp"
	"fmt"

	"lockpick/checker"
)

// lacking explains why a schedule proves nothing about a property, with the same text for all schedules that
// lack the same evidence.
func lacking(v *checker.Result) string {
	if e := v.Short; e != nil {
		return fmt.Sprintf("it needs %d %s", e.Need, e.What)
	}
	return cmp.Or(v.Why, "the checker could not decide")
}
