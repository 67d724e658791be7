// Package search looks for violations in simulated runs, and shrinks the scenarios that violate
// properties.
//
// Explore draws schedules of faults at random and simulates each of them. Shrink reduces a
// scenario that violates a property to a minimal one. Replay runs a scenario again, also on
// real masters. Package exhaust below it tries every schedule within bounds instead.
package search
