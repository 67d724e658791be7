package wholefile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// ways are the ways of writing.
var ways = map[string]func(string, fs.FileMode, func(*os.File) error) error{"Write": Write, "Replace": Replace, "by another name": writeNamed}

func TestWholeOrAbsent(t *testing.T) {
	for name, write := range ways {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.txt")
			for _, content := range []string{"first", "second"} { // a new file, and one in its place
				if err := write(path, 0o640, func(f *os.File) error { _, err := f.WriteString(content); return err }); err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(path)
				if err != nil || string(got) != content {
					t.Errorf("it contains %q, %v", got, err)
				}
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			failed := errors.New("no space")
			if err := write(path, 0o640, func(f *os.File) error { f.WriteString("third"); return failed }); !errors.Is(err, failed) {
				t.Errorf("the error is %v", err)
			}
			if got, _ := os.ReadFile(path); string(got) != "second" {
				t.Errorf("a failure left %q", got)
			}
			if all, _ := os.ReadDir(filepath.Dir(path)); len(all) != 1 {
				t.Errorf("left behind: %v", all)
			}
			if err := write(filepath.Join(path, "b"), 0o640, func(*os.File) error { return nil }); err == nil {
				t.Error("it wrote below a file")
			}
		})
	}
}

// TestKilled: a process that is killed while it writes leaves no file.
func TestKilled(t *testing.T) {
	if path := os.Getenv("WHOLEFILE_TEST"); path != "" {
		_ = Write(path, 0o600, func(f *os.File) error {
			f.WriteString("half")
			os.Stdout.WriteString("written\n")
			select {}
		})
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has files without a name")
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
	cmd.Env = append(os.Environ(), "WHOLEFILE_TEST="+filepath.Join(dir, "a.txt"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 8)
	if _, err := out.Read(said); err != nil || !bytes.Equal(said, []byte("written\n")) {
		t.Errorf("it said %q, %v", said, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if all, _ := os.ReadDir(dir); len(all) != 0 {
		t.Errorf("left behind: %v", all)
	}
}
