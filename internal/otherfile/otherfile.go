// Package otherfile reads files that somebody else may have written: those inside a store, parts of a search,
// baselines. It opens regular files only, also through a link, so that a pipe or a device cannot hang or fill the
// program, and it reads no more than a bound.
package otherfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// The bounds of files, in bytes.
const (
	MaxLabel  = 64 << 10  // a label or a note
	MaxResult = 64 << 20  // a result, a baseline
	MaxPart   = 512 << 20 // a part of a search
)

// ErrIrregular is the error of a file that is not a regular one, such as a pipe, a device or a folder.
var ErrIrregular = errors.New("it is not a regular file")

// Open opens a regular file for reading. It also opens a descriptor of this process (/dev/stdin, /dev/fd/3), which
// only its user can name.
func Open(path string) (*os.File, error) {
	if path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") {
		return os.Open(path)
	}
	return regular(os.OpenFile(path, os.O_RDONLY|nonblock, 0))
}

// OpenIn is Open for a file inside a folder, to which links are confined.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return regular(root.OpenFile(name, os.O_RDONLY|nonblock, 0))
}

// Read returns the content of a regular file of at most so many bytes.
func Read(path string, most int64) ([]byte, error) { return bounded(most)(Open(path)) }

// ReadIn is Read for a file inside a folder.
func ReadIn(root *os.Root, name string, most int64) ([]byte, error) {
	return bounded(most)(OpenIn(root, name))
}

func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: ErrIrregular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// limited returns a function that closes a file that is larger than so many bytes, with an error.
func limited(most int64) func(*os.File, error) (*os.File, error) {
	return func(f *os.File, err error) (*os.File, error) {
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err == nil && info.Size() > most {
			f.Close()
			return nil, tooLarge(f, most)
		}
		return f, nil
	}
}

func tooLarge(f *os.File, most int64) error {
	return &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("it is larger than %d bytes", most)}
}

func bounded(most int64) func(*os.File, error) ([]byte, error) {
	return func(f *os.File, err error) ([]byte, error) {
		if f, err = limited(most)(f, err); err != nil {
			return nil, err
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, most+1)) // the file may grow meanwhile
		if err == nil && int64(len(b)) > most {
			return nil, tooLarge(f, most)
		}
		return b, err
	}
}
