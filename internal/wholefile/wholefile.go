// Package wholefile writes files that are either complete or absent, even if the process is killed. Where the
// system supports files without a name (Linux), a file gets its name only when it is complete. Elsewhere, and
// for a moment while one file replaces another, a killed process leaves a file whose name ends with Suffix.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Suffix is the end of the temporary name of a file.
const Suffix = ".tmp"

// Write creates a file with the content that write writes, and replaces any file of that name. If write
// returns an error, there is no new file, and an old one stays unchanged.
func Write(path string, mode fs.FileMode, write func(*os.File) error) error {
	switch err := writeNameless(path, mode, write); {
	case !errors.Is(err, errors.ErrUnsupported):
		return err
	default:
		return writeNamed(path, mode, write)
	}
}

// writeNamed writes a file under another name, and then renames it.
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
