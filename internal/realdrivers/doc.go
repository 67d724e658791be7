// Package realdrivers registers the drivers of real masters, the preferred first, and clients that are
// processes. Programs and tests that run campaigns on real masters import it. Simulators and reports do not
// import it, and so avoid Docker's packages. On Windows it registers nothing, because the drivers stop
// servers and clients with Unix signals.
package realdrivers
