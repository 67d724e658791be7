package otherfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// CopyFolder copies a folder with the folders and the regular files below it, each file of at most so many bytes. It leaves
// out links, pipes and devices. The folder to is new; after an error nothing of it is left.
func CopyFolder(to, from string, most int64) (err error) {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir():
			return os.Mkdir(filepath.Join(to, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		return copyFile(filepath.Join(to, name), root, name, most)
	})
}

func copyFile(to string, root *os.Root, name string, most int64) (err error) {
	in, err := limited(most)(OpenIn(root, name))
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, most+1)) // the file may grow meanwhile
	if err == nil && n > most {
		err = tooLarge(in, most)
	}
	return errors.Join(err, out.Close())
}
