package otherfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lockpick/internal/waittest"
)

// TestCopiesHaveRegularFilesOnly: links, pipes and devices stay behind, and after an error nothing is left.
func TestCopiesHaveRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.MkdirAll(in("run/below"), 0o700), os.WriteFile(in("run/file"), []byte("text"), 0o600), os.WriteFile(in("run/below/file"), []byte("more"), 0o600), os.WriteFile(in("secret"), []byte("secret"), 0o600),
		os.Symlink("../secret", in("run/link")), os.Symlink("/", in("run/everything")), syscall.Mkfifo(in("run/pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	waittest.Returns("the copy", func() {
		if err := CopyFolder(in("copy"), in("run"), 4); err != nil {
			t.Error(err)
		}
		if err := CopyFolder(in("failed"), in("run"), 3); err == nil {
			t.Error("a file above the bound was copied")
		}
	})
	var got []string
	if err := filepath.WalkDir(in("copy"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := os.ReadFile(path)
			got = append(got, strings.TrimPrefix(path, in("copy"))+" "+string(b))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []string{"/below/file more", "/file text"}) {
		t.Errorf("copied: %q", got)
	}
	if _, err := os.Lstat(in("failed")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after an error: %v", err)
	}
}
