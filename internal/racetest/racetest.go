// Package racetest reports whether the race detector is on, and lets a test require that it is off.
//
// The race detector keeps memory for each coroutine that has ended, 10 GB and more for a test that simulates
// thousands of worlds. Such a test calls Exclude: the race detector's run skips it, and `make test`
// (internal/testrun) then runs exactly the tests that were skipped for this reason without the race detector.
// They are long, so -short skips them, too. A run under -race and the run after it therefore leave out no
// test.
package racetest

import (
	"strings"
	"testing"
)

// Reason is the beginning of the message of a test that Exclude skips.
const Reason = "runs without the race detector: "

// Exclude skips a test while the race detector is on. Only whole tests can be run again without it, so a
// subtest must not call Exclude.
func Exclude(t testing.TB, why string) {
	t.Helper()
	if strings.Contains(t.Name(), "/") {
		t.Fatalf("%s: a subtest cannot be left to the run without the race detector: call racetest.Exclude in the test itself", t.Name())
	}
	if Enabled {
		t.Skip(Reason + why)
	}
	if testing.Short() {
		t.Skip("not with -short: " + why)
	}
}
