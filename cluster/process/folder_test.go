package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAFolderOfSomebodyElseIsNotUsed: the folder must belong to this user alone and must not be a
// link. Another user who can write into it could name a process for the next start to kill.
func TestAFolderOfSomebodyElseIsNotUsed(t *testing.T) {
	parent := t.TempDir()
	folder := func(name string, make func(path string) error) string {
		path := filepath.Join(parent, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	shared := folder("shared", func(p string) error { return os.Mkdir(p, 0o700) })
	if err := os.Chmod(shared, 0o770); err != nil {
		t.Fatal(err)
	}
	private := folder("private", func(p string) error { return os.Mkdir(p, 0o700) })
	for path, want := range map[string]string{
		private:                         "",
		filepath.Join(parent, "a", "b"): "", // it is made
		shared:                          "can be used by others",
		folder("link", func(p string) error { return os.Symlink(private, p) }):              "is not a folder",
		folder("file", func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) }): "is not a folder",
	} {
		err := ownFolder(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if os.Getuid() == 0 { // only root can give a folder away
		if err := os.Chown(private, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if err := ownFolder(private); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("another user's folder: %v", err)
		}
	}
}

// TestANoteThatOthersCouldHaveWrittenEndsNoProcess plants, where every user can write, what a
// dead harness would have left, with the identity of a process to end.
func TestANoteThatOthersCouldHaveWrittenEndsNoProcess(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(tmp, "cache"))
	victim := exec.Command("sleep", "60")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = victim.Process.Kill()
		_ = victim.Wait()
	}()
	note := []byte(identify(victim.Process.Pid).String())
	for _, planted := range []string{
		filepath.Join(tmp, "process-1-1"),
		filepath.Join(tmp, fmt.Sprintf("lockpick-%d", os.Getuid()), "process-1-1"),
	} {
		if err := os.MkdirAll(planted, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(planted), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(planted, "m1"+pidSuffix), note, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := Sweep(t.Context())
	if err != nil || len(removed) > 0 || !identify(victim.Process.Pid).Alive() {
		t.Errorf("removed %v, %v; the process lives: %v", removed, err, identify(victim.Process.Pid).Alive())
	}
}

// TestARootIsAliveWhileItIsLocked: a root is a leftover from the moment its lock is free, and a
// claimed one is nobody else's.
func TestARootIsAliveWhileItIsLocked(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root, alive, err := newRoot("process")
	if err != nil {
		t.Fatal(err)
	}
	left := func(driver string) bool {
		t.Helper()
		roots, err := Leftovers(driver)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(roots, root)
	}
	if left("process") {
		t.Error("a root whose harness lives is a leftover")
	}
	alive.release()
	if !left("process") || left("docker") {
		t.Error("a root whose lock is free is not the leftover of its driver alone")
	}
	_, release, err := dead("process", true)
	if err != nil || left("process") {
		t.Errorf("two sweeps claim the same root (%v)", err)
	}
	release()
	if removed, err := Sweep(t.Context()); err != nil || !slices.Contains(removed, root) {
		t.Errorf("removed %v, %v", removed, err)
	}
}
