package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockpick/campaign/judge"
)

// TestExploreShrinkReplay is a search as a script sees it, from the first schedule to the
// counterexample that is re-enacted.
func TestExploreShrinkReplay(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, code := lockpick(t, dir, "search", "--faults", "kill,partition", "--schedules", "100", "--seed", "3", "--json")
	if code != exitViolated {
		t.Fatalf("explore: exit %d, want %d\n%s", code, exitViolated, stderr)
	}
	type counterexample struct {
		Level, Run, Report, History    string
		Faults, Clients, Masters, Rate int
		Minimal                        bool
		Schedule, Why                  []string
	}
	var found struct {
		Seed       uint64
		Schedules  int
		Verdict    string
		Verdicts   []struct{ Level, Verdict, Why string }
		Coverage   map[string]map[string]int
		Violations []struct {
			Schedule       int
			Level, Reason  string
			Counterexample counterexample
		}
	}
	if err := json.Unmarshal([]byte(stdout), &found); err != nil {
		t.Fatalf("not one JSON object: %v\n%s", err, stdout)
	}
	if found.Seed != 3 || found.Verdict != "violated" || len(found.Violations) != 1 || found.Schedules != found.Violations[0].Schedule+1 || len(found.Coverage) == 0 {
		t.Fatalf("%+v", found)
	}
	c := found.Violations[0].Counterexample
	if c.Level != "L2" || c.Faults == 0 || c.Faults > 3 || c.Clients != 2 || len(c.Schedule) != c.Faults || len(c.Why) == 0 {
		t.Errorf("the counterexample is %+v", c)
	}
	for _, file := range []string{c.Report, c.History, filepath.Join("store", c.Run, judge.ScenarioFile), filepath.Join("store", c.Run, judge.ResultFile)} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}

	_, stderr, code = lockpick(t, dir, "replay", "latest", "--driver", "sim")
	if code != exitViolated || !strings.Contains(stderr, "byte by byte") {
		t.Errorf("replay --driver sim: exit %d, want %d and the same history\n%s", code, exitViolated, stderr)
	}

	// A run of a nemesis, as recorded, becomes a small counterexample too.
	if _, stderr, code = lockpick(t, dir, "run", "--driver", "sim", "--stop-on-violation"); code != exitViolated {
		t.Fatalf("run: exit %d\n%s", code, stderr)
	}
	stdout, stderr, code = lockpick(t, dir, "shrink", "latest", "--json", "--time-limit", "10m")
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || code != exitViolated {
		t.Fatalf("shrink: exit %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if c.Faults == 0 || c.Faults > 3 || c.Clients > 2 || !c.Minimal {
		t.Errorf("shrink: %+v", c)
	}
	if stdout, _, code = lockpick(t, dir, "shrink", "store/"+c.Run); code != exitViolated || !strings.Contains(stdout, "Each fault is necessary") || !strings.Contains(stdout, "lockpick replay store/") {
		t.Errorf("what was shrunk, shrunk again: exit %d\n%s", code, stdout)
	}
}

// TestExploreTellsWhatWasAskedFor: a search for stale writes is headlined by them, also where
// the counterexample violates more, and names the faults of clients.
func TestExploreTellsWhatWasAskedFor(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, code := lockpick(t, dir, "search", "--persistence", "always", "--faults", "client-pause", "--property", "L4", "--seed", "1")
	if code != exitViolated || !strings.HasPrefix(stdout, "VIOLATED  L4 no stale write") || !strings.Contains(stdout, "L4 no-stale-write: client-pause") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	report, stderr, _ := lockpick(t, dir, "check", "store/latest")
	if !strings.HasPrefix(report, "VIOLATED  L4 no stale write") {
		t.Errorf("the run that is kept is headlined otherwise:\n%s%s", report, stderr)
	}
	if !regexp.MustCompile(`L3 +one client at a time +violated`).MatchString(report) {
		t.Errorf("it does not violate L3, so this tests nothing:\n%s", report)
	}
	stdout, stderr, _ = lockpick(t, dir, "search", "--persistence", "always", "--faults", "client-clock", "--client-clock", "x0.3", "--seed", "1", "--no-shrink")
	if !strings.Contains(stdout, "L2 mutual-exclusion: client-clock") {
		t.Errorf("the clock of a client is not a fault:\n%s%s", stdout, stderr)
	}
}

// TestExploreSaysWhenItProvesNothing: schedules in which nothing could happen give no bound.
func TestExploreSaysWhenItProvesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"--faults", "full-disk", "--schedules", "3", "--seed", "1"},
		{"--persistence", "always", "--faults", "none", "--property", "L2,L5", "--schedules", "20", "--seed", "1"},
	} {
		stdout, stderr, code := lockpick(t, dir, append([]string{"search"}, args...)...)
		if code != exitUndecided || !strings.HasPrefix(stdout, "INCONCLUSIVE  ") {
			t.Errorf("%v: exit %d, want %d\n%s%s", args, code, exitUndecided, stdout, stderr)
		}
	}
}

// TestExploreHolds: nothing is found where nothing is wrong, and the bound says how much
// that is worth.
func TestExploreHolds(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, code := lockpick(t, dir, "search", "--persistence", "always", "--schedules", "60", "--seed", "1")
	if code != exitHolds || !strings.HasPrefix(stdout, "HOLDS  L2 mutual exclusion: violated in none of") || !strings.Contains(stdout, "with 95 % confidence") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	// Without a seed each search draws its own, and says how to repeat it.
	seeds := map[string]bool{}
	repeat := regexp.MustCompile(`--seed\s(\d+)\sdraws`)
	for range 2 {
		stdout, stderr, _ = lockpick(t, dir, "search", "--persistence", "always", "--schedules", "3")
		m := repeat.FindStringSubmatch(stdout)
		if m == nil {
			t.Fatalf("no seed is printed:\n%s%s", stdout, stderr)
		}
		seeds[m[1]] = true
		counts := regexp.MustCompile(`(?s)Counts.*`)
		again, stderr, _ := lockpick(t, dir, "search", "--persistence", "always", "--schedules", "3", "--seed", m[1])
		if counts.FindString(again) != counts.FindString(stdout) {
			t.Errorf("seed %s again is another search:\n%s\n%s%s", m[1], stdout, again, stderr)
		}
	}
	if len(seeds) != 2 {
		t.Errorf("two searches have the same seed: %v", seeds)
	}
	// A scenario that names its seed keeps it.
	scenario := filepath.Join(dir, "seeded.yaml")
	if err := os.WriteFile(scenario, []byte("name: seeded\npersistence: always\nseed: 77\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, _ = lockpick(t, dir, "search", scenario, "--schedules", "1"); repeat.FindStringSubmatch(stdout) == nil || repeat.FindStringSubmatch(stdout)[1] != "77" {
		t.Errorf("the scenario's seed is 77:\n%s%s", stdout, stderr)
	}
	if err := os.Remove(scenario); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v behind", left)
	}
	// Interrupted, it sums up what was done.
	cmd := exec.Command(binary, "search", "--persistence", "always", "--time-limit", "10m", "--workers", "1")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	told, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line := make([]byte, 1) // the first line of progress: it has begun
	if _, err := told.Read(line); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var summary strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := out.Read(buffer)
		summary.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitUndecided || !strings.Contains(summary.String(), "interrupted") || !strings.Contains(summary.String(), "leases granted") {
		t.Errorf("exit %d, want %d\n%s", code, exitUndecided, summary.String())
	}
}

func TestSearchSaysThatRunHasTheServer(t *testing.T) {
	_, stderr, code := lockpick(t, t.TempDir(), "search", "--server", "valkey-server")
	if want := "there is no flag --server for search, but lockpick run has it"; code != exitUsage || !strings.Contains(stderr, want) {
		t.Fatalf("exit %d: %s", code, stderr)
	}
}
