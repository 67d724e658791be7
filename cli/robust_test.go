package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestPanicIsAHarnessError: a panic is not a verdict, and is told in one sentence.
func TestPanicIsAHarnessError(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if code := crashed("out of cheese", []byte("stack")); code != exitHarness {
		t.Errorf("exit %d, want %d", code, exitHarness)
	}
	kept, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "lockpick-crash-*.txt"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	if b, err := os.ReadFile(kept[0]); err != nil || !strings.Contains(string(b), "out of cheese") || !strings.Contains(string(b), "stack") {
		t.Errorf("%v: %s", err, b)
	}
}

// panics is the name of a lock, and of the variable in the environment that makes the test program know it.
const panics = "panics"

// TestPanicOfAGoroutineIsNoVerdict: a panic that nobody recovers, of a goroutine that a lock started, is told in one sentence
// after the stacks, by each command that runs the lock. Other systems end the process with SIGABRT.
func TestPanicOfAGoroutineIsNoVerdict(t *testing.T) {
	want := exitHarness
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		want = -1
	}
	for _, args := range []string{"run --driver sim", "audit --most 1", "search"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(strings.Fields(args), "--lock", panics)...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), panics+"=1")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != want || !strings.Contains(string(out), "out of cheese") {
			t.Errorf("%s: exit %d, want %d\n%s", args, code, want, out)
		}
		if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); want == exitHarness && !strings.Contains(lines[len(lines)-1], "no verdict") {
			t.Errorf("%s: the last line is %q", args, lines[len(lines)-1])
		}
	}
}

// TestOddHistoriesAreNoPanic: a history with lines that no run writes is judged or refused.
func TestOddHistoriesAreNoPanic(t *testing.T) {
	dir := t.TempDir()
	header := `{"lockpick_history":1,"name":"x","started":"2000-01-01T00:00:00Z","seed":1,"driver":"sim","lock":"redlock","masters":MASTERS,"quorum":3,"persistence":"none","clients":5,"keys":1,"ttl":2000000000,"fencing":false,"faults":[],"nemesis":"none","versions":{}}` + "\n"
	for name, c := range map[string]struct {
		text string
		code int
	}{
		"apply without a value": {strings.Replace(header, "MASTERS", "5", 1) + `{"index":0,"time":1,"process":"resource","type":"ok","f":"apply","key":"k0"}` + "\n", exitUsage},
		"too many masters":      {strings.Replace(header, "MASTERS", "9223372036854775807", 1), exitUsage},
		"no masters":            {strings.Replace(header, "MASTERS", "-1", 1), exitUsage},
	} {
		path := filepath.Join(dir, "h.jsonl")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := lockpick(t, dir, "check", path)
		if strings.Contains(stderr, "goroutine") || strings.Contains(stderr, "bug of Lockpick") || code != c.code {
			t.Errorf("%s: exit %d, want %d\n%s%s", name, code, c.code, stdout, stderr)
		}
	}
}
