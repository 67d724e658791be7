package cli

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"lockpick/campaign/scenario"
)

// TestEveryOutputIsAnOutputFlag: each flag that names a file to write takes -, and is written by the one writer.
func TestEveryOutputIsAnOutputFlag(t *testing.T) {
	found := 0
	for _, cmd := range rootCommand().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, writes := f.Annotations[writesFile]
			if writes {
				found++
			}
			if says := strings.Contains(f.Usage, "write") && strings.Contains(f.Usage, "file"); says && !writes && f.Name != "baseline" {
				t.Errorf("lockpick %s --%s names a file to write, but is not an outputFlag", cmd.Name(), f.Name)
			}
		})
	}
	if found < 15 {
		t.Errorf("%d flags name files to write, want 15 or more", found)
	}
}

// shortOutput is a short command that lacks the name of a file to write, with the beginning of that file.
type shortOutput struct{ command, begins string }

// shortOutputs write files in each of the ways that commands have.
var shortOutputs = []shortOutput{
	{"claims --only 35 --most 3 --evidence none --junit", "<?xml"},
	{"audit --lock single --only quiet --most 1 --html", "<!doctype html>"},
	{"export latest --as junit -o", "<?xml"},
}

// aRun simulates a short campaign in the store of a new folder.
func aRun(t *testing.T) (dir string) {
	dir = t.TempDir()
	if _, stderr, code := lockpick(t, dir, "run", "--driver", scenario.Sim, "--seed", "1", "--time-limit", "2s"); code != exitViolated {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	return dir
}

// TestDashIsStdout: the name - stands for stdout, which then has nothing but that file.
func TestDashIsStdout(t *testing.T) {
	dir := aRun(t)
	for _, c := range append([]shortOutput{
		{"claims --only 35 --most 3 --evidence none --html", "<!doctype html>"},
		{"audit --lock single --only quiet --most 1 --junit", "<?xml"},
		{"audit --lock single --only quiet --most 1 --markdown", "## single"},
		{"audit --lock single --only quiet --most 1 --out", `{"lockpick_part"`},
		{"explore --schedules 3 --seed 1 --out", `{"lockpick_part"`},
	}, shortOutputs...) {
		for _, name := range []string{"-", "/dev/stdout"} {
			stdout, stderr, code := lockpick(t, dir, append(strings.Fields(c.command), name)...)
			if code != exitHolds || !strings.HasPrefix(stdout, c.begins) {
				t.Errorf("%s %s: exit %d, and stdout does not begin with %s:\n%.300s\n%s", c.command, name, code, c.begins, stdout, stderr)
			}
			for _, other := range []string{"The page", "The card", "All findings"} {
				if strings.Contains(stdout, other) {
					t.Errorf("%s %s: stdout has the report for people, too", c.command, name)
				}
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "-*")); err != nil || len(left) > 0 {
		t.Errorf("files: %v, %v", left, err)
	}
}

func TestTwoOutputsDoNotShareStdout(t *testing.T) {
	dir := t.TempDir()
	for _, args := range []string{
		"audit --lock single --only quiet --most 1 --junit - --json",
		"audit --lock single --only quiet --most 1 --junit - --html /dev/stdout",
		"claims --only 35 --baseline -",
		"audit --lock single --only quiet --baseline /dev/stdout",
	} {
		if stdout, stderr, code := lockpick(t, dir, strings.Fields(args)...); code != exitUsage || stdout != "" {
			t.Errorf("%s: exit %d, want %d\n%s%s", args, code, exitUsage, stdout, stderr)
		}
	}
}

// TestOutputsLeaveDevicesPipesAndLinks: commands write to them and do not replace them. As root, Lockpick once made
// a regular file of /dev/full.
func TestOutputsLeaveDevicesPipesAndLinks(t *testing.T) {
	dir := aRun(t)
	// Made here, because root could replace those of the machine.
	null, full, pipe := filepath.Join(dir, "null"), filepath.Join(dir, "full"), filepath.Join(dir, "pipe")
	devices := true
	for path, minor := range map[string]int{null: 3, full: 7} {
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|minor); err != nil {
			devices = false
			t.Logf("no device is tried: they cannot be made here: %v", err)
		}
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	for _, c := range shortOutputs {
		try := func(path string, want int, kind fs.FileMode) {
			t.Helper()
			_, stderr, code := lockpick(t, dir, append(strings.Fields(c.command), path)...)
			if code != want {
				t.Errorf("%s %s: exit %d, want %d\n%s", c.command, path, code, want, stderr)
			}
			if want == exitUsage && !strings.Contains(stderr, "no space left on device") {
				t.Errorf("%s %s does not say that the device is full:\n%s", c.command, path, stderr)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode().Type() != kind {
				t.Fatalf("%s made of %s: %v, %v", c.command, path, info.Mode(), err)
			}
		}
		if devices {
			try(null, exitHolds, fs.ModeDevice|fs.ModeCharDevice)
			try(full, exitUsage, fs.ModeDevice|fs.ModeCharDevice)
		}
		read := make(chan string, 1)
		go func() {
			b, err := os.ReadFile(pipe)
			if err != nil {
				b = []byte(err.Error())
			}
			read <- string(b)
		}()
		try(pipe, exitHolds, fs.ModeNamedPipe)
		if got := <-read; !strings.HasPrefix(got, c.begins) {
			t.Errorf("%s: the reader of the pipe got %.100q", c.command, got)
		}
		_ = os.Remove(file)
		try(link, exitHolds, fs.ModeSymlink)
		if got, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(got), c.begins) {
			t.Errorf("%s: the linked file contains %.100q, %v", c.command, got, err)
		}
	}
}

// TestReportsFollowNoLinkOfAStore: a run of somebody else, whose files are links to files of the user, changes none
// of them.
func TestReportsFollowNoLinkOfAStore(t *testing.T) {
	dir := aRun(t)
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.html", "why.json"} {
		path := filepath.Join(dir, "store", "latest", name)
		_ = os.Remove(path)
		if err := os.Symlink(mine, path); err != nil {
			t.Fatal(err)
		}
	}
	lockpick(t, dir, "why", "latest", "--points", "2", "--branches", "5", "--minimize", "0")
	lockpick(t, dir, "show", "latest")
	if got, err := os.ReadFile(mine); err != nil || string(got) != "mine" {
		t.Errorf("the user's file contains %.100q, %v", got, err)
	}
	var answer map[string]any
	if b, err := os.ReadFile(filepath.Join(dir, "store", "latest", "why.json")); err != nil || json.Unmarshal(b, &answer) != nil {
		t.Errorf("the answer of why was not stored: %.100q, %v", b, err)
	}
}
