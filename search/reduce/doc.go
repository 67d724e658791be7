// Package reduce makes a violation that a search found small, and says what it depends on. Shrink looks for
// the smallest scenario that violates the same property; Why measures at each moment of a run how likely the
// violation was, and names the fewest faults that are enough for it.
package reduce
