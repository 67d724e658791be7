package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheProgramKnowsItsLock builds the program and uses it as its users do. It needs no Redis.
func TestTheProgramKnowsItsLock(t *testing.T) {
	program := filepath.Join(t.TempDir(), "own-main")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	catalogue, err := filepath.Abs("claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		exit int
		says []string
	}{
		{"list locks", 0, []string{"SET NX PX on the first master alone"}},
		{"explore --lock first --masters 3 --faults kill --schedules 200 --seed 1", 1, []string{"violated by schedule", "was killed, without persistence", "How it was shrunk"}},
		{"replay latest --driver virtual", 1, []string{"Reproduced in 1 of"}},
		{"audit --lock first --only quiet --most 1", 1, []string{"on virtual", "a quorum needs 3"}},
		{"shrink latest", 1, []string{"How it was shrunk"}},
		{"explore --lock first --masters 3 --faults kill --persistence always --schedules 50 --seed 1", 0, []string{"violated in none"}},
		{"run --lock first --driver virtual --time-limit 10s --faults none --property L2", 0, []string{"lock first"}},
		{"run --lock first --driver sim", 64, []string{"the lock first connects to its masters", "choose virtual"}},
		{"claims --driver virtual --budget quick --catalogue " + catalogue, 0, []string{"1 as expected"}},
		{"exhaust --lock first", 64, []string{"its schedules cannot be enumerated"}},
	} {
		args := strings.Fields(c.args)
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.exit {
			t.Errorf("%s: exit %d, want %d\n%s", c.args, code, c.exit, out)
		}
		for _, command := range []string{"run", "replay", "check", "show"} {
			if bytes.Contains(out, []byte("lockpick "+command)) {
				t.Errorf("%s: it prints a command of lockpick, which does not know the lock:\n%s", c.args, out)
			}
		}
		for _, text := range c.says {
			if !bytes.Contains(out, []byte(text)) {
				t.Errorf("%s: it does not say %q:\n%s", c.args, text, out)
			}
		}
	}
}
