//go:build real

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
)

// started runs a long campaign and returns when its history has grants.
func started(t *testing.T, dir, driver string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(binary, "run", "--driver", driver, "--time-limit", "10m", "--persistence", "always")
	cmd.Dir, cmd.Stderr = dir, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for path := filepath.Join(dir, "store", "latest", judge.HistoryFile); ; {
		if h, err := history.ReadFile(path); err == nil && len(history.Leases(h.Ops)) >= 12 {
			return cmd, &stderr
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no leases within a minute:\n%s", stderr.String())
		case <-time.After(50 * time.Millisecond): // between two looks at the file
		}
	}
}

// TestInterrupt: Ctrl-C ends the run in order, with a report.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, driver := range driversHere(t) {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd, stderr := started(t, dir, driver)
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != exitUndecided {
				t.Errorf("exit %d, want %d: availability was not tried\n%s", code, exitUndecided, stderr)
			}
			if _, err := os.Stat(filepath.Join(dir, "store", "latest", judge.ReportFile)); err != nil {
				t.Error(err)
			}
			nothingLeft(t, cmd.Process.Pid)
		})
	}
}

// TestKilledHarness: kill -9 leaves a history that can be judged, and masters that
// the next start removes.
func TestKilledHarness(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // or the next start of a program beside this test removes them
	for _, driver := range driversHere(t) {
		t.Run(driver, func(t *testing.T) {
			dir := t.TempDir()
			cmd, _ := started(t, dir, driver)
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			stdout, stderr, code := lockpick(t, dir, "check", "latest")
			if code != exitUndecided || !strings.Contains(stdout, "cut short") || strings.Contains(stdout, "violated") {
				t.Errorf("check: exit %d\n%s%s", code, stdout, stderr)
			}
			stdout, stderr, code = lockpick(t, dir, "doctor")
			if code != exitHolds || strings.Contains(stdout, "removed") || !strings.Contains(stdout, "doctor --clean removes it") {
				t.Errorf("doctor: exit %d, want it only to list what is left\n%s%s", code, stdout, stderr)
			}
			stdout, stderr, code = lockpick(t, dir, "doctor", "--clean")
			if code != exitHolds || !strings.Contains(stdout, "removed") { // containers may have been removed at the start of a program beside this test
				t.Errorf("doctor --clean: exit %d, want what is left removed\n%s%s", code, stdout, stderr)
			}
			nothingLeft(t, cmd.Process.Pid)
		})
	}
}

// nothingLeft checks that nothing of a dead harness is left.
func nothingLeft(t *testing.T, pid int) {
	t.Helper()
	all := drivers()
	found, err := all.Leftovers(t.Context())
	if left := leftBy(pid, found); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// leftBy returns what one harness has left behind, of what several have.
func leftBy(pid int, found []string) []string {
	return slices.DeleteFunc(found, func(name string) bool { return !strings.Contains(name, fmt.Sprintf("-%d-", pid)) })
}

// ignored are the signals that this process was started to ignore. It looks at once: signal.Notify of another test would hide it.
var ignored = map[os.Signal]bool{syscall.SIGHUP: signal.Ignored(syscall.SIGHUP)}

// TestEverySignalEndsTheRunInOrder: each signal that asks a program to end interrupts the
// run: a verdict, a report, exit code 2.
func TestEverySignalEndsTheRunInOrder(t *testing.T) {
	t.Parallel()
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			if ignored[s] {
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
