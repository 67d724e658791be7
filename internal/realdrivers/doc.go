// Package realdrivers registers the drivers on real masters, the best first, and clients that
// are processes. Programs and tests that run campaigns on real masters import it; simulators
// and reports do without, and so without Docker's packages. On Windows it registers nothing:
// the drivers stop servers and clients with the signals of Unix.
package realdrivers
