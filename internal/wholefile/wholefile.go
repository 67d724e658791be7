// Package wholefile writes files that are complete or not there, and leaves nothing else, whenever
// the process ends. Where the system has files without a name (Linux), a file gets its name only
// when it is complete; elsewhere a process that is killed while it writes leaves a file whose name
// ends with Suffix.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Suffix ends the name of a file that is not complete yet.
const Suffix = ".tmp"

// Write makes a file with what write puts into it, in the place of any file that has the name. If
// write returns an error there is no new file, and the old one stays.
func Write(path string, mode fs.FileMode, write func(*os.File) error) error {
	switch err := writeNameless(path, mode, write); {
	case !errors.Is(err, errors.ErrUnsupported):
		return err
	default:
		return writeNamed(path, mode, write)
	}
}

// writeNamed writes a file of another name, and then renames it.
func writeNamed(path string, mode fs.FileMode, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+Suffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := errors.Join(write(f), f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
