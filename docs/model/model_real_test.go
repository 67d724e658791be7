//go:build real

// Package model checks docs/model/README.md: Spin must find what its table says.
package model

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A row is one line of the table in README.md.
type row struct {
	options []string
	verdict string // violated, holds
	steps   string // the length of the shortest counterexample
}

func TestSpinFindsWhatTheTableSays(t *testing.T) {
	for _, program := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: on Debian, apt-get install spin gcc libc6-dev", program)
		}
	}
	rows := table(t)
	if len(rows) != 6 {
		t.Fatalf("README.md's table has %d rows, want 6", len(rows))
	}
	for _, r := range rows {
		t.Run(strings.Join(r.options, " "), func(t *testing.T) {
			t.Parallel()
			verdict, steps := search(t, r.options)
			if verdict != r.verdict || steps != r.steps {
				t.Errorf("Spin: %s, shortest counterexample of %q steps; README.md says %s, %q steps",
					verdict, steps, r.verdict, r.steps)
			}
		})
	}
}

// table reads the rows that have options from README.md.
func table(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 7 || !strings.Contains(cells[4], "-D") {
			continue
		}
		rows = append(rows, row{
			options: strings.Fields(strings.Trim(strings.TrimSpace(cells[4]), "`")),
			verdict: strings.TrimSpace(cells[5]),
			steps:   strings.TrimSpace(cells[6]),
		})
	}
	return rows
}

var (
	completed = regexp.MustCompile(`errors: (\d+)`)
	length    = regexp.MustCompile(`assertion violated .*\(at depth (\d+)\)`)
)

// search has Spin try every order of the model's steps, shortest first.
func search(t *testing.T, options []string) (verdict, steps string) {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs("redlock.pml")
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "spin", append(options, "-a", source)...)
	run(t, dir, "gcc", "-O1", "-w", "-DBFS", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
	out := run(t, dir, filepath.Join(dir, "pan"))
	errors := completed.FindStringSubmatch(out)
	switch {
	case errors == nil || strings.Contains(out, "out of memory") || strings.Contains(out, "max search depth too small"):
		t.Fatalf("the search did not finish:\n%s", out)
	case errors[1] == "0":
		return "holds", ""
	}
	depth := length.FindStringSubmatch(out)
	if depth == nil {
		t.Fatalf("an error that is not a violated assertion:\n%s", out)
	}
	return "violated", depth[1]
}

func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, out))
	}
	return string(out)
}
