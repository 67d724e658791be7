//go:build unix

package otherfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lockpick/internal/waittest"
)

// TestOnlyRegularFilesAreRead: pipes, devices, folders and files above the bound are errors at once.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(in("file"), []byte("text"), 0o600), os.Symlink("file", in("link")), os.Symlink("/dev/zero", in("device")),
		syscall.Mkfifo(in("pipe"), 0o600), os.Mkdir(in("folder"), 0o700), os.WriteFile(in("sparse"), nil, 0o600), os.Truncate(in("sparse"), 1<<40),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	waittest.Returns("the reader", func() {
		for _, name := range []string{"file", "link"} {
			for _, read := range []func() ([]byte, error){
				func() ([]byte, error) { return Read(in(name), 4) }, func() ([]byte, error) { return ReadIn(root, name, 4) },
			} {
				if b, err := read(); string(b) != "text" || err != nil {
					t.Errorf("%s: %q, %v", name, b, err)
				}
			}
		}
		for _, name := range []string{"pipe", "folder", "device"} {
			if _, err := Read(in(name), 4); !errors.Is(err, ErrIrregular) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := ReadIn(root, name, 4); err == nil {
				t.Errorf("%s in a root was read", name)
			}
		}
		for _, most := range []int64{3, 1 << 20} {
			name := map[int64]string{3: "file", 1 << 20: "sparse"}[most]
			if b, err := Read(in(name), most); err == nil {
				t.Errorf("%d bytes of %s were read", len(b), name)
			}
		}
	})
}
