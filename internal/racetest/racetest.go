// Package racetest says whether the race detector is on, and lets a test ask to run
// without it.
//
// The race detector keeps memory for each coroutine that has ended, 10 GB and more for a
// test that simulates thousands of worlds. Such a test calls Exclude: under the race detector
// it is skipped, and `make test` (internal/testrun) then runs exactly the tests that were
// skipped like this once more without it. They are long, so -short skips them, too. A run under -race and the run after it together
// therefore leave out no test.
package racetest

import (
	"strings"
	"testing"
)

// Reason begins the message of a test that Exclude skips.
const Reason = "runs without the race detector: "

// Exclude skips a test while the race detector is on. Only whole tests can be run again
// without it, so a subtest must not call Exclude.
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
