package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
)

// tookSpan is how long a search took.
var tookSpan = regexp.MustCompile(`[0-9.]+ (ms|s|min)$`)

// TestExhaustShardsAsUsersSeeThem runs shards and merges them, all in one folder.
func TestExhaustShardsAsUsersSeeThem(t *testing.T) {
	dir := t.TempDir()
	datadriven.RunTest(t, "testdata/exhaustshards.txt", func(t *testing.T, d *datadriven.TestData) string {
		words := strings.Fields(d.Input)
		stdout, stderr, code := lockpick(t, dir, words[1:]...)
		if verdict, rest, found := strings.Cut(stdout, "\nBounds\n"); found { // without the bounds and the story
			_, counts, _ := strings.Cut(rest, "\nCounts\n")
			counts, _, _ = strings.Cut(counts, "\nShortest")
			stdout = verdict + "\nCounts\n" + counts
		}
		lines := strings.Split(stderr+stdout, "\n")
		for i, line := range lines {
			lines[i] = tookSpan.ReplaceAllString(line, "…")
		}
		return strings.Join(lines, "\n") + fmt.Sprintf("exit %d\n", code)
	})
}

// exhausted is what exhaust and merge print as JSON, without what differs from run to run and
// from one machine to several.
func exhausted(t *testing.T, stdout string) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	for _, name := range []string{"elapsed_ms", "runs", "events", "shards"} {
		delete(all, name)
	}
	if c, ok := all["counterexample"].(map[string]any); ok {
		delete(all, "states") // those without a shorter counterexample
		for _, name := range []string{"run", "report", "history"} {
			delete(c, name)
		}
	}
	return all
}

// TestShardsOfAnExhaustiveSearch starts the jobs that Kubernetes would start. One is killed and
// one is interrupted, and both are started again. Merged, they are what one process finds, and
// the counterexample is in the store.
func TestShardsOfAnExhaustiveSearch(t *testing.T) {
	for persistence, want := range map[string]int{"none": exitViolated, "always": exitHolds} {
		t.Run(persistence, func(t *testing.T) {
			dir := t.TempDir()
			bounds := []string{"--persistence", persistence, "--restart-delay", "1"}
			whole, stderr, code := lockpick(t, dir, append([]string{"exhaust", "--json", "--store", "one"}, bounds...)...)
			if code != want {
				t.Fatalf("exit %d\n%s", code, stderr)
			}
			job := func(index int) *exec.Cmd {
				cmd := exec.CommandContext(t.Context(), binary, append([]string{"exhaust", "--workers", "1", "--out", fmt.Sprintf("part-%d.json", index)}, bounds...)...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index), "LOCKPICK_SHARDS=3")
				return cmd
			}
			for index, signal := range []os.Signal{syscall.SIGKILL, syscall.SIGTERM} {
				ended := job(index)
				if err := ended.Start(); err != nil {
					t.Fatal(err)
				}
				_ = ended.Process.Signal(signal) // at any time: its file is complete, can be resumed, or is not there
				_ = ended.Wait()
			}
			for index := range 3 {
				if out, err := job(index).CombinedOutput(); err != nil {
					t.Fatalf("job %d: %v\n%s", index, err, out)
				}
			}
			stdout, stderr, code := lockpick(t, dir, "merge", "part-2.json", "part-0.json", "part-1.json", "part-0.json", "--json", "--store", "merged")
			if code != want || !strings.Contains(stderr, "count once: 1") {
				t.Errorf("exit %d\n%s", code, stderr)
			}
			if diff := cmp.Diff(exhausted(t, whole), exhausted(t, stdout)); diff != "" {
				t.Error(diff)
			}
			reports, err := filepath.Glob(filepath.Join(dir, "merged", "*-exhaust-redlock", "report.html"))
			if kept := len(reports) == 1; err != nil || kept != (want == exitViolated) {
				t.Errorf("%v, %v", reports, err)
			}
		})
	}
}
