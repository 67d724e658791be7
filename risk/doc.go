// Package risk estimates how often a lock fails in production.
//
// Violations are far too rare to be simulated as they come, so it conditions on the faults. A Setup says
// how the lock is deployed, how it is used, and how often which fault happens. Each cause is a kind of
// fault, or a pair of them within a time in which they can interact. For each, samples are simulated: one
// acquisition, the fault at a random moment of it, and at least one other client that comes for the same
// key. The share of samples with a violation, times how often acquisitions, the fault and another client
// meet, is the expected number of violations in a year (Campbell's theorem; docs/risk.md has the formulas
// and what they leave out).
//
// setup.go, values.go and fields.go read what is given; causes.go turns faults into steps of a schedule;
// draw.go draws samples, and runs them in the simulator; estimate.go adds them up with their confidence intervals
// (interval.go); whatif.go repeats that with other setups.
package risk
