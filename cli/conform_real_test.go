//go:build real

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockpick/clients"
	"lockpick/history"
)

// TestPackagedClientsKeepToTheProtocol: each that can be started here, on real masters.
func TestPackagedClientsKeepToTheProtocol(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-C", "../clients/go", "-o", filepath.Join(dir, "lockpick-go-clients"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("go", "build", "-C", "../examples/services/etcd", "-o", filepath.Join(dir, "lockpick-etcd"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	keepToTheProtocol(t, clients.All)
}

// documentedClient writes the example in Python of docs/clients.md with a number into a file.
func documentedClient(t *testing.T, number int, file string) {
	t.Helper()
	needsRedis(t)
	if out, err := exec.Command("/usr/bin/python3", "-c", "import redis").CombinedOutput(); err != nil {
		t.Skipf("needs python3-redis: %v: %s", err, out)
	}
	page, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllSubmatch(page, -1)
	if len(all) != 3 {
		t.Fatalf("docs/clients.md has %d examples in Python", len(all))
	}
	if err := os.WriteFile(file, all[number][1], 0o644); err != nil {
		t.Fatal(err)
	}
}

// runEnds runs a campaign that is to end with an exit code. A busy machine sees less in the same time: a run that decides nothing, or
// that does not happen to meet a violation, is made again, twice as long.
func runEnds(t *testing.T, dir string, want int, limit time.Duration, args ...string) {
	t.Helper()
	for again := 2; ; again-- {
		out, stderr, code := lockpick(t, dir, append([]string{"run", "--time-limit", limit.String()}, args...)...)
		if code == want {
			return
		}
		if again == 0 || code != exitUndecided && code != exitHolds {
			t.Fatalf("exit code %d, want %d\n%s%s", code, want, out, stderr)
		}
		limit *= 2
	}
}

// TestDocumentedClientWorks: the client of docs/clients.md is complete.
func TestDocumentedClientWorks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lock.py")
	documentedClient(t, 0, file)
	if out, stderr, code := lockpick(t, t.TempDir(), "client", "check", "--driver", "process", "--", "/usr/bin/python3", file); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}

// TestDocumentedReadWriteLockWorks: the read-write lock of docs/clients.md keeps to the protocol, and a run judges it as one.
func TestDocumentedReadWriteLockWorks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "rw.py")
	documentedClient(t, 1, file)
	if out, stderr, code := lockpick(t, dir, "client", "check", "--driver", "process", "--", "/usr/bin/python3", file); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	run := filepath.Join(dir, "run")
	runEnds(t, dir, exitHolds, 12*time.Second, "--client", "/usr/bin/python3 "+file, "--driver", "process", "--masters", "1", "--faults", "none", "--hold", "200ms..400ms", "--long-holds", "0",
		"--store", run)
	found, err := filepath.Glob(filepath.Join(run, "latest", "history.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("histories: %v, %v", found, err)
	}
	h, err := history.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	leases := history.Leases(h.Ops)
	together := 0
	for i, l := range leases {
		for _, other := range leases[:i] {
			if l.Mode == history.ModeRead && other.Mode == history.ModeRead && other.Holds()[0].To > l.Acquired() {
				together++
			}
		}
	}
	if h.Header.Kind != history.ReadWrite || together == 0 {
		t.Errorf("a %s: %d of %d leases began while another reader had one", h.Header.Kind, together, len(leases))
	}
	if out, stderr, code := lockpick(t, dir, "run", "--client", "/usr/bin/python3 "+file, "--driver", "process", "--masters", "1", "--kind", "semaphore"); code != exitUsage {
		t.Errorf("as a semaphore: exit code %d\n%s%s", code, out, stderr)
	}
}

// TestDocumentedMultiLockWorks: the multi-lock of docs/clients.md keeps to the protocol, a run judges it as one, and one that
// leaves keys behind does not keep to the protocol.
func TestDocumentedMultiLockWorks(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "multi.py")
	documentedClient(t, 2, file)
	check := func() (string, int) {
		out, stderr, code := lockpick(t, dir, "client", "check", "--driver", "process", "--", "/usr/bin/python3", file)
		return out + stderr, code
	}
	if says, code := check(); code != 0 || !strings.Contains(says, "several keys") {
		t.Errorf("exit code %d\n%s", code, says)
	}
	run := filepath.Join(dir, "run")
	runEnds(t, dir, exitHolds, 12*time.Second, "--client", "/usr/bin/python3 "+file, "--driver", "process", "--masters", "1", "--faults", "none", "--hold", "0s..200ms", "--long-holds", "0",
		"--store", run)
	h, err := history.ReadFile(filepath.Join(run, "latest", "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if h.Header.Kind != history.Multi || h.Header.Keys != 3 {
		t.Errorf("a %s of %d keys", h.Header.Kind, h.Header.Keys)
	}
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(code, []byte("for key in taken:"), []byte("for key in []:"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if says, code := check(); code == 0 || !strings.Contains(says, "and nobody holds") {
		t.Errorf("exit code %d\n%s", code, says)
	}
}

// TestMinimalClientInGoWorks: the shortest client in Go is complete.
func TestMinimalClientInGoWorks(t *testing.T) {
	t.Parallel()
	needsRedis(t)
	program := filepath.Join(t.TempDir(), "minimal")
	if out, err := exec.Command("go", "build", "-C", "../clients/go", "-o", program, "./minimal").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, stderr, code := lockpick(t, t.TempDir(), "client", "check", "--driver", "process", "--", program); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}
