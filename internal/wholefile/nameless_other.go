//go:build !linux

package wholefile

import (
	"errors"
	"io/fs"
	"os"
)

// writeNameless is implemented for Linux only.
func writeNameless(string, fs.FileMode, func(*os.File) error) error { return errors.ErrUnsupported }
