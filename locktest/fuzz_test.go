package locktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockpick/campaign/scenario"
)

// FuzzSimpleLock is run by TestTheFuzzerConvicts, in a program of its own.
func FuzzSimpleLock(f *testing.F) {
	persistence := os.Getenv("PERSISTENCE")
	if persistence == "" {
		f.Skip("run by TestTheFuzzerConvicts, with the persistence of the masters in PERSISTENCE")
	}
	Fuzz(f, simple, Masters(1), Persistence(persistence), Faults("kill", "pause"))
}

// TestTheFuzzerConvicts: an input fails, and fails again without -fuzz.
func TestTheFuzzerConvicts(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(persistence string, args ...string) (string, bool) {
		cmd := exec.CommandContext(t.Context(), program, append(args, "-test.timeout=5m")...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PERSISTENCE="+persistence, "TMPDIR="+dir)
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	fuzz := []string{"-test.run=^$", "-test.fuzz=^FuzzSimpleLock$", "-test.fuzzcachedir=" + filepath.Join(dir, "cache"), "-test.fuzzminimizetime=5x"}
	if out, passed := run("always", append(fuzz, "-test.fuzztime=100x")...); !passed {
		t.Errorf("it fails over a master that remembers:\n%s", out)
	}
	out, passed := run("none", append(fuzz, "-test.fuzztime=5000x")...)
	if passed || !strings.Contains(out, "mutual-exclusion is violated") || !strings.Contains(out, "was killed, without persistence") {
		t.Errorf("the failure tells no story:\n%s", out)
	}
	if out, passed := run("none", "-test.run=^FuzzSimpleLock$"); passed || !strings.Contains(out, "mutual-exclusion is violated") {
		t.Errorf("it does not fail again:\n%s", out)
	}
}

// TestAnInputStandsForOneSchedule: the same input makes the same scenario, and a byte that changes
// changes it.
func TestAnInputStandsForOneSchedule(t *testing.T) {
	base := scenario.Defaults()
	base.Driver, base.Faults = scenario.Virtual, []string{"kill", "pause", "partition"}
	input := make([]byte, bytesOfSchedule)
	yaml := func() string {
		s := scheduleOf(base, input, 0)
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		s.Seed = 0
		text, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := yaml()
	if yaml() != before {
		t.Error("the same input made two scenarios")
	}
	differ := 0
	for i := range 20 {
		input[2*i] = 0xff
		if yaml() != before {
			differ++
		}
		input[2*i] = 0
	}
	if differ < 5 {
		t.Errorf("%d of 20 changes of a byte changed the scenario", differ)
	}
}
