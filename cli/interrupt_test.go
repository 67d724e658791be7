package cli

import (
	"encoding/json"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"lockpick/campaign/scenario"
)

// TestEverySignalEndsTheRunInOrder: each signal that asks a program to end interrupts the
// run: a verdict, a report, exit code 2.
func TestEverySignalEndsTheRunInOrder(t *testing.T) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			if signal.Ignored(s) {
				t.Skipf("the process that started this test, such as nohup, has it ignore the signal %s", s)
			}
			dir := t.TempDir()
			cmd, stderr := started(t, dir, scenario.Process)
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != exitUndecided {
				t.Errorf("exit %d, want %d\n%s", code, exitUndecided, stderr)
			}
			if !strings.Contains(stderr.String(), "UNKNOWN: interrupted: "+s.String()) {
				t.Errorf("stderr does not say why there is no verdict:\n%s", stderr)
			}
			stdout, _, code := lockpick(t, dir, "check", "latest", "--json")
			var got struct {
				Verdict, Why string
				Notes        []string
			}
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatal(err)
			}
			if code != exitUndecided || got.Verdict != "unknown" || !strings.Contains(got.Why, "interrupted: "+s.String()) || len(got.Notes) == 0 {
				t.Errorf("check: exit %d, %+v", code, got)
			}
		})
	}
}

// TestAskedForAndNotTested: a property that was named and not tested is not passed over.
func TestAskedForAndNotTested(t *testing.T) {
	dir := t.TempDir()
	args := []string{"run", "--driver", "sim", "--persistence", "always", "--faults", "kill", "--time-limit", "30s", "--json", "--property"}
	for _, c := range []struct {
		property string
		code     int
		verdict  string
		says     string
	}{
		{"L2", exitHolds, "holds", ""},
		{"L2,L5", exitUndecided, "not tested", "L5 was asked for and not tested: the leases of this lock carry no fencing tokens"},
		{"L2,no-lost-update", exitUndecided, "not tested", "no-lost-update was asked for and not tested: the guarded resource does not compare and set"},
	} {
		for _, again := range []bool{false, true} {
			with := append(args, c.property)
			if again { // the run's own properties count when it is checked, too
				with = []string{"check", "latest", "--json"}
			}
			stdout, stderr, code := lockpick(t, dir, with...)
			var got struct{ Verdict, Why string }
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			if code != c.code || got.Verdict != c.verdict || !strings.Contains(got.Why, c.says) || !strings.Contains(stderr, c.says) {
				t.Errorf("%v: exit %d, %+v, want exit %d, %s, %q\n%s", with, code, got, c.code, c.verdict, c.says, stderr)
			}
		}
	}
}
