// Package exhaust tries every schedule within small Bounds: an execution follows a path of
// choices in a world of its own, and the search goes on from each state once.
package exhaust
