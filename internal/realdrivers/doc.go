// Package realdrivers has the drivers of real masters, and clients that are processes. Programs and tests that run campaigns
// on real masters pass them to what runs those. Simulators and reports do not import it, and so avoid Docker's packages. On
// Windows there are none, because the drivers stop servers and clients with Unix signals.
package realdrivers
