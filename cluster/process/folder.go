package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Masters' data lies in folders of the user's own: nobody else can put a file there that names
// processes to end, or a link to lead a removal astray. Each campaign has a folder (its root)
// with a file that it locks for as long as it lives. The kernel releases the lock when the process
// ends, however it ends, so a root whose lock is free belongs to a dead harness. Neither process
// ids nor ages are guessed from.

// lockFile is what a harness locks in its root, and for a moment in the folder of all roots.
const lockFile = "lock"

// dataFolder makes the folder of all roots, or checks it.
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

// folderCandidates are where the folder may be, the best first: a cache folder is the user's own,
// and the folder of temporary files is always there.
func folderCandidates() []string {
	var all []string
	if cache, err := os.UserCacheDir(); err == nil {
		all = append(all, filepath.Join(cache, "lockpick", "run"))
	}
	return append(all, filepath.Join(os.TempDir(), fmt.Sprintf("lockpick-%d", os.Getuid())))
}

// ownFolder makes a folder that only this user can read and write. One that is there is taken
// only if it is that already, and no link.
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
		return fmt.Errorf("%s is no folder", path)
	case !ok || int(owner.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s can be used by others (mode %v): chmod 700 %s", path, info.Mode().Perm(), path)
	}
	probe, err := os.CreateTemp(path, "probe-*") // the folder may be on a file system that is read-only
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// locked is a file that this process has locked.
type locked struct{ file *os.File }

func (l locked) release() { _ = l.file.Close() }

// lockFolder locks the lock file of a folder. If another process holds the lock, it waits for it if
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

// newRoot makes the folder that all data of a cluster lies in, and locks it for as long as this
// process lives or until release. The lock of the folder of all roots keeps a sweep from seeing
// the root before it is locked.
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

// dead lists the roots of a driver whose harness no longer lives. If claim is set they are locked
// as this process's own, so that no other sweep works on them, until release is called.
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
			continue // it is not ours: nothing in it is touched
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
