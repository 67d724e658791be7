//go:build unix

package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// fullDevice returns a device like /dev/full that a test may destroy.
func fullDevice(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "full")
	err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 7)))
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			f.Close()
		}
	}
	if err == nil {
		return path
	}
	if os.Geteuid() == 0 { // who could replace the machine's own
		t.Skipf("devices cannot be made here: %v", err)
	}
	return "/dev/full"
}

func TestADeviceStaysADevice(t *testing.T) {
	path := fullDevice(t)
	if err := Write(path, 0o644, Content([]byte("lost"))); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the error is %v, want that the device is full", err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeDevice|fs.ModeCharDevice {
		t.Errorf("the device is %v now, %v", info.Mode(), err)
	}
}

func TestAPipeIsWrittenTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		b, err := os.ReadFile(path)
		if err != nil {
			b = []byte(err.Error())
		}
		read <- string(b)
	}()
	if err := Write(path, 0o644, Content([]byte("through"))); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Fatalf("the pipe is %v now, %v", info.Mode(), err)
	}
	if got := <-read; got != "through" {
		t.Errorf("its reader got %q", got)
	}
}

// TestALinkIsFollowed: the file at the end of a chain of links is replaced, or made, and the links stay.
func TestALinkIsFollowed(t *testing.T) {
	for name, before := range map[string]string{"to a file": "before", "to nothing": ""} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "to", "file")
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, "from"), 0o755), os.Mkdir(filepath.Join(dir, "to"), 0o755)); err != nil {
				t.Fatal(err)
			}
			if before != "" {
				if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			link := filepath.Join(dir, "from", "link")
			if err := errors.Join(os.Symlink("../to/next", link), os.Symlink("file", filepath.Join(dir, "to", "next"))); err != nil {
				t.Fatal(err)
			}
			if err := Write(link, 0o644, Content([]byte("after"))); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
				t.Errorf("the link is %v now, %v", info.Mode(), err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != "after" {
				t.Errorf("the file contains %q, %v", got, err)
			}
			if info, err := os.Stat(file); before != "" && (err != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("its permissions were 600 and are %v, %v", info.Mode(), err)
			}
		})
	}
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := Write(loop, 0o644, Content(nil)); err == nil {
		t.Error("it wrote to a link to itself")
	}
}

// TestReplaceFollowsNoLink: a link in a folder of somebody else changes no file of the user.
func TestReplaceFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	mine, link := filepath.Join(dir, "mine"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(mine, []byte("mine"), 0o644), os.Symlink("mine", link)); err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, 0o644, Content([]byte("new"))); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(mine); string(got) != "mine" {
		t.Errorf("the linked file contains %q", got)
	}
	if got, _ := os.ReadFile(link); string(got) != "new" {
		t.Errorf("the replaced file contains %q", got)
	}
}

// TestOwnDescriptors: what is written to a descriptor of the process follows what it wrote there before, and a
// socket can be written to as well.
func TestOwnDescriptors(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	near, far := os.NewFile(uintptr(pair[0]), "near"), os.NewFile(uintptr(pair[1]), "far")
	defer far.Close()
	for _, to := range []*os.File{file, near} {
		if _, err := to.WriteString("first, "); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("/dev/fd", strconv.Itoa(int(to.Fd())))
		if err := Write(name, 0o644, Content([]byte("second"))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	near.Close()
	socket, err := io.ReadAll(far)
	if err != nil || string(socket) != "first, second" {
		t.Errorf("the socket carried %q, %v", socket, err)
	}
	if got, err := os.ReadFile(file.Name()); err != nil || string(got) != "first, second" {
		t.Errorf("the file contains %q, %v", got, err)
	}
	if n, ok := descriptorOf("/dev/stdout"); !ok || n != 1 {
		t.Errorf("/dev/stdout is descriptor %d, %v", n, ok)
	}
}
