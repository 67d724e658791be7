//go:build real

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"lockpick/clients"
)

// TestPackagedClientsKeepToTheProtocol: each that can be started here, on real masters.
func TestPackagedClientsKeepToTheProtocol(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-C", "../clients/go", "-o", filepath.Join(dir, "lockpick-go-clients"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	keepToTheProtocol(t, clients.All)
}

// TestDocumentedClientWorks: the client of docs/clients.md is complete.
func TestDocumentedClientWorks(t *testing.T) {
	needsRedis(t)
	if out, err := exec.Command("/usr/bin/python3", "-c", "import redis").CombinedOutput(); err != nil {
		t.Skipf("needs python3-redis: %v: %s", err, out)
	}
	page, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	if code == nil {
		t.Fatal("docs/clients.md has no example in Python")
	}
	file := filepath.Join(t.TempDir(), "lock.py")
	if err := os.WriteFile(file, code[1], 0o644); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := lockpick(t, t.TempDir(), "client", "check", "--driver", "process", "--", "/usr/bin/python3", file); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}

// TestMinimalClientInGoWorks: the shortest client in Go is complete.
func TestMinimalClientInGoWorks(t *testing.T) {
	needsRedis(t)
	program := filepath.Join(t.TempDir(), "minimal")
	if out, err := exec.Command("go", "build", "-C", "../clients/go", "-o", program, "./minimal").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, stderr, code := lockpick(t, t.TempDir(), "client", "check", "--driver", "process", "--", program); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}
