package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	named := mentions("lockpick", []string{"redlock", "cli", "cmd", "internal"})
	for text, want := range map[string]string{
		`import "lockpick/redlock"`:                       `import "x.org/y/redlock"`,
		`import "lockpick/redlock/protocol"`:              `import "x.org/y/redlock/protocol"`,
		`go list lockpick/...`:                            `go list x.org/y/...`,
		`strings.CutPrefix(p, "lockpick/")`:               `strings.CutPrefix(p, "x.org/y/")`,
		"`go doc lockpick/redlock`":                       "`go doc x.org/y/redlock`",
		`-ldflags=-X lockpick/cli.version=1`:              `-ldflags=-X x.org/y/cli.version=1`,
		`-require lockpick@v0.0.0 -replace lockpick=/p/l`: `-require x.org/y@v0.0.0 -replace x.org/y=/p/l`,
		`./cmd/lockpick`:                                  `./cmd/lockpick`,
		`lockpick run`:                                    `lockpick run`,
		`testdata/lockpick/*.yaml`:                        `testdata/lockpick/*.yaml`,
		`"lockpick-test-"`:                                `"lockpick-test-"`,
		`/path/to/lockpick/redlock`:                       `/path/to/lockpick/redlock`,
	} {
		if got := named.ReplaceAllString(text, "${1}x.org/y${2}"); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestTheTreeBuildsUnderAnotherPath renames a copy of the tree, builds it, and renames it back: that
// restores every byte.
func TestTheTreeBuildsUnderAnotherPath(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short: it builds every package once more")
	}
	const to = "example.org/you/lockpick"
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	names, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("the files of the tree are not known: git ls-files: %v", err)
	}
	copied := t.TempDir()
	before := map[string][]byte{}
	for name := range strings.SplitSeq(strings.Trim(string(names), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		before[name] = content
		path := filepath.Join(copied, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was := strings.TrimPrefix(strings.SplitN(string(before["go.mod"]), "\n", 2)[0], "module ")
	if n, err := rename(copied, to); err != nil || n < 100 {
		t.Fatalf("%d files changed, want hundreds (%v)", n, err)
	}
	for _, c := range []struct{ dir, command string }{
		{".", "go vet ./cmd/lockpick ./locktest"},
		{".", "go test ./internal/architecture -run ^TestImports$"},
		{"examples/own-lock", "go vet ./..."},
		{"examples/own-main", "go list -deps ."},
	} {
		words := strings.Fields(c.command)
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir = filepath.Join(copied, c.dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %s: %v\n%s", c.dir, c.command, err, out)
		}
	}
	if _, err := rename(copied, was); err != nil {
		t.Fatal(err)
	}
	for name, content := range before {
		now, err := os.ReadFile(filepath.Join(copied, name))
		if err != nil || !bytes.Equal(now, content) {
			t.Errorf("%s is not what it was after there and back again (%v)", name, err)
		}
	}
}

func TestOnlyModulePathsAreTaken(t *testing.T) {
	for _, to := range []string{"", "Example.org/x", "/abs", "a b", "../up", "x/"} {
		if _, err := rename(t.TempDir(), to); err == nil || !strings.Contains(err.Error(), "not a module path") {
			t.Errorf("%q: %v", to, err)
		}
	}
}
