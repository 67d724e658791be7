// Package reduce shrinks a violation that a search found, and explains it. Shrink looks for the smallest
// scenario that violates the same property. Why measures, at points of a run, the probability that chance
// still leads to the violation, and names the fewest faults that are enough for it.
package reduce
