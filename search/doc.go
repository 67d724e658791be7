// Package search looks for violations in simulated runs.
//
// Explore simulates many schedules of faults, drawn at random. Replay runs a scenario again, also on real masters.
// Below this package, reduce shrinks a violation, and exhaust tries every schedule within bounds.
package search
