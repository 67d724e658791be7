// Package plural renders numbers with their nouns.
package plural

import "fmt"

// Count renders a number with its noun, in the singular or plural: 1 schedule, 2 schedules.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Times renders how often something happened: once, 2 times.
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
