package campaign

import (
	"fmt"
	"os"
	"testing"

	"lockpick/workload/remote"
)

// testDrivers are the drivers of all tests: simulated masters alone, and with the build tag real those of real masters, too. They
// import this package, so a file of package campaign_test sets them.
var testDrivers Drivers

// SetTestDrivers sets testDrivers.
func SetTestDrivers(all Drivers) { testDrivers = all }

// TestMain makes the test's program a client process where a campaign starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv("LOCKPICK_TEST_CLIENT") != "" {
		withWall()
		if err := remote.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
