// Package risk estimates how often a lock fails in production.
//
// Violations are too rare to simulate them at their natural rate, so the estimate conditions on
// faults. A Setup describes the deployment and the use of the lock, and the rate of each fault. A
// cause is one kind of fault, or a pair of faults within a time in which they can interact. For
// each cause the package simulates samples: one acquisition, the fault at a random moment of it,
// and at least one other client that wants the same key. The share of samples with a violation,
// times the rate at which acquisitions, the fault and another client meet, is the expected number
// of violations per year (Campbell's theorem; docs/risk.md has the formulas and their limits).
//
// setup.go, values.go and fields.go read the input; causes.go turns faults into steps of a
// schedule; draw.go draws samples and runs them in the simulator; estimate.go adds them up with
// confidence intervals (interval.go); whatif.go repeats that with other setups. terminal.go and page.go render the
// estimate.
package risk
