// Package spelling finds the name that somebody probably meant: of a flag, a value, a field of a log.
package spelling

import (
	"strings"

	edlib "github.com/hbollon/go-edlib"
)

// Nearest returns the name that is most similar to a given one, or "" if none is similar: at most a third of its letters
// are inserted, deleted, replaced or swapped with their neighbours.
func Nearest(given string, names []string) string {
	best, least := "", 1+len(given)/3
	for _, n := range names {
		if d := edlib.OSADamerauLevenshteinDistance(strings.ToLower(n), strings.ToLower(given)); d < least {
			best, least = n, d
		}
	}
	return best
}
