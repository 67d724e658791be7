// Package search looks for violations in simulated runs.
//
// Explore simulates many schedules of faults, drawn at random or, by coverage, made of those that
// reached something new. Replay runs a scenario again, also on real masters. Package reduce below it
// makes a violation small, and package exhaust tries every schedule within bounds instead.
package search
