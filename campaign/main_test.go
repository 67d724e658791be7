package campaign

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/internal/sampletest"
	"lockpick/workload/remote"
)

// testDrivers are the drivers of all tests: simulated masters alone, and with the build tag real those of real masters, too. They
// import this package, so a file of package campaign_test sets them.
var testDrivers Drivers

// SetTestDrivers sets testDrivers.
func SetTestDrivers(all Drivers) { testDrivers = all }

// onEachDriver runs a test on simulated masters, and with the tag real on one of the drivers of real masters that this
// machine has instead (SAMPLE=all: on each). What holds on these holds in the simulator, and the other way round. Runs on
// real masters mostly wait, so they run at the same time.
func onEachDriver(t *testing.T, f func(t *testing.T, driver string)) {
	t.Helper()
	exceptOnDocker(t, "", f)
}

// exceptOnDocker does the same, but runs nothing on Docker if it is given a reason.
func exceptOnDocker(t *testing.T, why string, f func(t *testing.T, driver string)) {
	t.Helper()
	if len(testDrivers.Real) == 0 {
		t.Run(scenario.Sim, func(t *testing.T) { f(t, scenario.Sim) })
		return
	}
	for _, driver := range driversToTry(t, why) {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			f(t, driver)
		})
	}
}

// driversToTry returns the drivers of real masters that a test tries: one of those that this machine has, or all of them with SAMPLE=all.
// It skips the test if there are none. notDocker says why the test does not try Docker; it may be empty.
func driversToTry(t *testing.T, notDocker string) (drivers []string) {
	t.Helper()
	var here, missing []string
	for _, d := range testDrivers.Real {
		ok, lacks := d.Available(t.Context(), cluster.Software{})
		if d.Name == scenario.Docker && notDocker != "" {
			ok, lacks = false, notDocker
		}
		if ok {
			here = append(here, d.Name)
		} else {
			missing = append(missing, fmt.Sprintf("not on %s: %s", d.Name, lacks))
		}
	}
	if len(here) == 0 {
		t.Skip(strings.Join(missing, "; "))
	}
	in := sampletest.Of(t, 1, len(here))
	for i, driver := range here {
		if in(i) {
			drivers = append(drivers, driver)
		}
	}
	return drivers
}

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
