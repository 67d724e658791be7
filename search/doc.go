// Package search looks for violations in simulated runs, and makes what it finds small.
//
// Explore draws schedules of faults at random and simulates each of them. Shrink reduces a
// scenario that violates a property to a minimal one. Replay runs a scenario again, on real
// masters too. Package exhaust below it tries every schedule within bounds instead.
package search
