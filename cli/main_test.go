package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"lockpick/campaign/judge"
	"lockpick/cluster"
	"lockpick/workload"
)

// binary is lockpick as users run it.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(panics) != "" { // this process is lockpick with a lock that panics
		Main(workload.Implementation{Name: panics, New: func(workload.Env) (workload.Lock, error) {
			go panic("out of cheese")
			select {}
		}})
	}
	dir, err := os.MkdirTemp("", "lockpick-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "lockpick")
	// Without the race detector, as users have it: with it a campaign takes all of a small
	// machine, and its verdicts would be about that. The packages' own tests have it.
	if out, err := exec.Command("go", "build", "-o", binary, "lockpick/cmd/lockpick").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build lockpick: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// lockpick runs the command in a folder and returns what it printed and its exit code.
func lockpick(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &err
	failed := cmd.Run()
	var exit *exec.ExitError
	if failed != nil && !errors.As(failed, &exit) {
		t.Fatal(failed)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// TestCommandLine is what users see without any master: help, lists, mistakes.
func TestCommandLine(t *testing.T) {
	datadriven.RunTest(t, "testdata/commandline.txt", func(t *testing.T, d *datadriven.TestData) string {
		dir := t.TempDir()
		lines := strings.SplitN(d.Input, "\n", 2)
		if len(lines) == 2 { // what follows the command is scenario.yaml
			if err := os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(lines[1]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := strings.Fields(lines[0])
		stdout, stderr, code := lockpick(t, dir, args[1:]...)
		if left, _ := os.ReadDir(dir); len(left) > len(lines)-1 {
			t.Errorf("%s: left %v behind", lines[0], left)
		}
		return fmt.Sprintf("%s%sexit %d\n", stdout, stderr, code)
	})
}

// driversHere are those that this machine has.
func driversHere(t *testing.T) []string {
	var have []string
	for _, d := range drivers().Real {
		if ok, why := d.Available(t.Context(), cluster.Software{}); ok {
			have = append(have, d.Name)
		} else {
			t.Logf("no driver %s: %s", d.Name, why)
		}
	}
	if len(have) == 0 {
		t.Skip("no driver on this machine")
	}
	return have
}

type verdict struct{ Property, Level, Key, Verdict, Why string }

// TestRunCheckReport is the main job as a script sees it.
func TestRunCheckReport(t *testing.T) {
	for _, driver := range driversHere(t) {
		t.Run(driver, func(t *testing.T) {
			dir := t.TempDir()
			broken, err := filepath.Abs("../examples/restart-without-persistence.yaml")
			if err != nil {
				t.Fatal(err)
			}
			stdout, stderr, code := lockpick(t, dir, "run", broken, "--driver", driver, "--json", "--seed", "1")
			if code != exitViolated {
				t.Fatalf("exit %d, want %d\n%s", code, exitViolated, stderr)
			}
			var got struct {
				Run, Driver, Report, History string
				Seed                         uint64
				Verdicts                     []verdict
				Counts                       map[string]int
				FirstViolationMS             *float64 `json:"first_violation_ms"`
			}
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatalf("not one JSON object: %v\n%s", err, stdout)
			}
			if got.Driver != driver || got.Seed != 1 || got.FirstViolationMS == nil || got.Counts["granted"] == 0 || len(got.Verdicts) == 0 {
				t.Errorf("%+v: fields are missing", got)
			}
			i := slices.IndexFunc(got.Verdicts, func(v verdict) bool { return v.Level == "L2" })
			if v := got.Verdicts[max(i, 0)]; v.Level != "L2" || v.Verdict != "violated" || v.Key != "k0" || v.Why == "" {
				t.Errorf("the verdict at L2 is %+v", v)
			}
			for _, file := range []string{got.Report, got.History, filepath.Join(filepath.Dir(got.Report), judge.ScenarioFile)} {
				if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
					t.Errorf("%s: %v", file, err)
				}
			}
			if !strings.Contains(stderr, "driver "+driver) {
				t.Errorf("stderr does not say which driver and why:\n%s", stderr)
			}

			stdout, stderr, code = lockpick(t, dir, "check", "latest")
			if code != exitViolated || !strings.Contains(stdout, "VIOLATED") || !strings.Contains(stdout, "was granted k0") {
				t.Errorf("check: exit %d\n%s%s", code, stdout, stderr)
			}
			if _, _, code = lockpick(t, dir, "check", "latest", "--property", "DF"); code != exitHolds && code != exitUndecided { // the run may have stopped before a key was granted again
				t.Errorf("check --property DF: exit %d, want %d or %d", code, exitHolds, exitUndecided)
			}
			report := filepath.Join(dir, got.Report)
			if err := os.Remove(report); err != nil {
				t.Fatal(err)
			}
			if _, stderr, code = lockpick(t, dir, "show", got.Run); code != exitHolds {
				t.Errorf("report: exit %d\n%s", code, stderr)
			}
			if _, err := os.Stat(report); err != nil {
				t.Error(err)
			}
			if stdout, _, _ = lockpick(t, dir, "list", "runs"); !strings.Contains(stdout, got.Run) || !strings.Contains(stdout, "violated") {
				t.Errorf("list runs:\n%s", stdout)
			}
		})
	}
}
