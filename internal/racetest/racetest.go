// Package racetest reports whether the race detector is on, and lets a test require that it is off.
//
// The race detector keeps memory for each coroutine that has ended, 10 GB and more for a test that simulates
// thousands of worlds. Such a test calls Exclude: `make test` runs its package without the race detector, and
// `make test-real` now and then runs the other tests of the package with it. These tests are long, so -short skips them, too.
package racetest

import "testing"

// Exclude skips a test while the race detector is on, and with -short.
func Exclude(t testing.TB, why string) {
	t.Helper()
	if Enabled {
		t.Skip("runs without the race detector: " + why)
	}
	if testing.Short() {
		t.Skip("not with -short: " + why)
	}
}
