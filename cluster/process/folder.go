package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Masters' data is in folders that only this user can write: no other user can put a file there that
// names processes to end, or a link that leads a removal elsewhere. Each campaign has a folder (its
// root) with a file that it locks while it runs. The kernel releases the lock when the process ends,
// however it ends, so a root whose lock is free belongs to a dead harness. Process ids and ages are
// not used.

// lockFile is the file that a harness locks in its root, and for a moment in the folder of all
// roots.
const lockFile = "lock"

// dataFolder creates the folder of all roots, or checks it.
func dataFolder() (string, error) {
	var problems []error
	for _, base := range folderCandidates() {
		err := ownFolder(base)
		if err == nil {
			return base, nil
		}
		problems = append(problems, err)
	}
	return "", fmt.Errorf("make a folder for the masters' data: %w; set XDG_CACHE_HOME to a folder of your own", errors.Join(problems...))
}

// folderCandidates returns the possible places of the folder, the best first: a cache folder belongs
// to the user, and the folder of temporary files always exists.
func folderCandidates() []string {
	var all []string
	if cache, err := os.UserCacheDir(); err == nil {
		all = append(all, filepath.Join(cache, "lockpick", "run"))
	}
	return append(all, filepath.Join(os.TempDir(), fmt.Sprintf("lockpick-%d", os.Getuid())))
}

// ownFolder creates a folder that only this user can read and write. It accepts an existing
// folder only if it has these permissions and is not a link.
func ownFolder(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", path)
	case !ok || int(owner.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s can be used by others (mode %v): chmod 700 %s", path, info.Mode().Perm(), path)
	}
	if err := unix.Access(path, unix.W_OK); err != nil { // the folder may be on a read-only file system
		return &fs.PathError{Op: "write to", Path: path, Err: err}
	}
	return nil
}

// locked is a file that this process has locked.
type locked struct{ file *os.File }

func (l locked) release() { _ = l.file.Close() }

// lockFolder locks the lock file of a folder. If another process holds the lock, it waits if
// wait is set, and otherwise returns ok == false.
func lockFolder(folder string, wait bool) (l locked, ok bool, err error) {
	f, err := os.OpenFile(filepath.Join(folder, lockFile), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return locked{}, false, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return locked{}, false, nil
		}
		return locked{}, false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return locked{f}, true, nil
}

// newRoot makes the folder for all data of a cluster, and locks it until release is called or
// this process ends. The lock of the folder of all roots prevents a sweep from finding the root
// before it is locked.
func newRoot(driver string) (root string, alive locked, err error) {
	folder, err := dataFolder()
	if err != nil {
		return "", locked{}, err
	}
	all, _, err := lockFolder(folder, true)
	if err != nil {
		return "", locked{}, err
	}
	defer all.release()
	if root, err = os.MkdirTemp(folder, fmt.Sprintf("%s-%d-", driver, os.Getpid())); err != nil {
		return "", locked{}, fmt.Errorf("make a folder for the masters' data: %w", err)
	}
	alive, _, err = lockFolder(root, true)
	return root, alive, err
}

// Scratch makes a folder for temporary files of this process. If the process ends without calling
// remove, the next start removes the folder.
func Scratch() (folder string, remove func() error, err error) {
	root, alive, err := newRoot(driverName)
	if err != nil {
		return "", nil, err
	}
	return root, func() error {
		defer alive.release()
		return RemoveRoot(root)
	}, nil
}

// dead lists the roots of a driver whose harness no longer runs. If claim is set, this process locks
// them until release is called, so that no other sweep handles them.
func dead(driver string, claim bool) (roots []string, release func(), err error) {
	var claims []locked
	release = func() {
		for _, c := range claims {
			c.release()
		}
	}
	for _, folder := range folderCandidates() {
		if _, err := os.Lstat(folder); err != nil {
			continue
		}
		if err := ownFolder(folder); err != nil {
			continue // it belongs to another user: leave it alone
		}
		all, _, err := lockFolder(folder, true)
		if err != nil {
			return roots, release, err
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			all.release()
			return roots, release, err
		}
		for _, e := range entries {
			if !e.IsDir() || !strings.HasPrefix(e.Name(), driver+"-") {
				continue
			}
			root := filepath.Join(folder, e.Name())
			l, free, err := lockFolder(root, false)
			if err != nil || !free {
				continue
			}
			roots = append(roots, root)
			if claim {
				claims = append(claims, l)
			} else {
				l.release()
			}
		}
		all.release()
	}
	return roots, release, nil
}
