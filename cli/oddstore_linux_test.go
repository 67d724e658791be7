package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockpick/internal/waittest"
)

// TestOddFilesInAStore: a pipe, a device behind a link, a sparse file of a terabyte or a folder in the place of a
// run's file neither hangs nor ends a command, and control characters in the run's name do not reach the terminal.
func TestOddFilesInAStore(t *testing.T) {
	dir := aRun(t)
	runs, err := filepath.Glob(filepath.Join(dir, "store", "2*"))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	for _, c := range []struct {
		kind string
		make func(path string) error
	}{
		{"pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
		{"device", func(path string) error { return os.Symlink("/dev/zero", path) }},
		{"sparse", func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		}},
		{"folder", func(path string) error { return os.Mkdir(path, 0o700) }},
	} {
		for _, file := range []string{"result.json", "scenario.yaml", "label.txt", "history.jsonl"} {
			odd := filepath.Join(dir, "store", "20260101T000000-\x1b[31m"+c.kind+"-"+file)
			if err := os.CopyFS(odd, os.DirFS(runs[0])); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(odd, file)
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"list", "runs"}, {"prune", "--older-than", "1h"}, {"check", odd}, {"show", odd}} {
				if c.kind == "sparse" && file == "history.jsonl" && args[0] != "list" && args[0] != "prune" {
					continue // a history has no bound: it is read line by line
				}
				var stdout, stderr string
				var code int
				waittest.Returns(strings.Join(args, " "), func() { stdout, stderr, code = lockpick(t, dir, args...) })
				if strings.Contains(stderr, "goroutine ") || args[0] != "check" && args[0] != "show" && code != exitHolds {
					t.Errorf("%s is a %s: %v: exit %d\n%s", file, c.kind, args, code, stderr)
				}
				if args[0] == "show" {
					stdout = "" // the path that the user typed
				}
				if strings.Contains(stdout+stderr, "\x1b[31m") {
					t.Errorf("%v: a control character reached the terminal:\n%q", args, stdout+stderr)
				}
			}
			if err := os.RemoveAll(odd); err != nil {
				t.Fatal(err)
			}
		}
	}
}
