package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLines: lines are printed as they were recorded, by their index, with those around them.
func TestLines(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"lockpick_history":2,"name":"x"}` + "\n")
	for i := range 60 {
		fmt.Fprintf(&b, `{"index":%d,"time":%d,"process":"c1","type":"invoke","f":"acquire","key":"k0"}`+"\n", i, i*1000)
	}
	path := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printLines(&out, path, []int{3, 50}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if want := 14 + 1 + 20; len(lines) != want { // 0 to 13, --, 40 to 59
		t.Errorf("%d lines, want %d\n%s", len(lines), want, out.String())
	}
	for at, want := range map[int]string{0: `0-{"index":0,`, 3: `3:{"index":3,`, 14: "--", 15: `40-{"index":40,`, 25: `50:{"index":50,`} {
		if !strings.HasPrefix(lines[at], want) {
			t.Errorf("line %d is %q, want %q", at, lines[at], want)
		}
	}
	if err := printLines(&out, path, []int{60}); err == nil || !strings.Contains(err.Error(), "the last is 59") {
		t.Errorf("a line beyond the end: %v", err)
	}
	if err := printLines(&out, path, []int{-1}); err == nil {
		t.Error("a negative index was accepted")
	}
}

// TestAHugeLineIsRefused: a line that is longer than any of a history is an error before it is held in memory.
func TestAHugeLineIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(path, []byte(`{"lockpick_history":2,"name":"x"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil { // sparse: a line of a terabyte
		t.Skip("the file system has no file of this size: ", err)
	}
	for _, command := range [][]string{{"show", path, "--lines", "0"}, {"check", path}, {"show", path, "--story"}} {
		_, stderr, code := lockpick(t, t.TempDir(), command...)
		if code != exitUsage || !strings.Contains(stderr, "longer than 16 MiB") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %s", command, code, stderr)
		}
	}
}
