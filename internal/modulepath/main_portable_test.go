//go:build portable

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockpick/internal/typecheck"
)

// TestTheTreeCompilesUnderAnotherPath renames a copy of the tree, checks that it compiles, and renames it back: that
// restores every byte.
func TestTheTreeCompilesUnderAnotherPath(t *testing.T) {
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
	typecheck.Packages(t, copied, nil, "./...")
	typecheck.Packages(t, filepath.Join(copied, "examples/own-lock"), nil, "./...")
	typecheck.Packages(t, filepath.Join(copied, "examples/own-main"), nil, "./...")
	imports := exec.CommandContext(t.Context(), "go", "test", "./internal/architecture", "-run", "^TestImports$")
	imports.Dir = copied
	if out, err := imports.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
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
