// Modulepath renames the module, and those below it, in each file of the tree that names their packages:
// imports, go.mod files, build files and documents. `make module-path` runs it.
//
//	go run ./internal/modulepath example.org/you/lockpick
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "modulepath: to which path? make module-path TO=example.org/you/lockpick")
		os.Exit(64)
	}
	changed, err := rename(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "modulepath:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files name %s now\n", changed, os.Args[1])
}

// valid matches the module paths that are allowed here; go mod has the full rules.
var valid = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(/[A-Za-z0-9][A-Za-z0-9._~-]*)*$`)

// rename renames the module in a folder and returns the number of changed files.
func rename(root, to string) (changed int, err error) {
	if !valid.MatchString(to) {
		return 0, fmt.Errorf("%q is not a module path, such as example.org/you/lockpick", to)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(mod)
	if m == nil {
		return 0, errors.New("go.mod does not say what the module is")
	}
	from := string(m[1])
	if from == to {
		return 0, nil
	}
	folders, err := topFolders(root)
	if err != nil {
		return 0, err
	}
	named := mentions(from, folders)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "store", "dist"}, d.Name()) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		before, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(before, 0) >= 0 { // a binary file
			return err
		}
		after := named.ReplaceAll(before, []byte("${1}"+to+"${2}"))
		if filepath.Base(path) == "go.mod" {
			after = inGoMod(from).ReplaceAll(after, []byte("${1}"+to+"${2}"))
		}
		if bytes.Equal(before, after) {
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			if after, err = format.Source(after); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		changed++
		return os.WriteFile(path, after, info.Mode().Perm())
	})
	return changed, err
}

// topFolders returns the names, quoted for a pattern, of the folders in root that may contain packages.
func topFolders(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, regexp.QuoteMeta(e.Name()))
		}
	}
	return names, nil
}

// mentions matches the module's path where it begins the path of a package, stands alone as a prefix in
// quotes, or is an argument of go mod edit. The preceding character distinguishes it from folders and
// programs of the same name.
func mentions(from string, folders []string) *regexp.Regexp {
	return regexp.MustCompile(`(^|[^\w./-])` + regexp.QuoteMeta(from) + `(/(?:` + strings.Join(folders, "|") + `)\b|/\.\.\.|/"|@v|=/)`)
}

// inGoMod matches the module's path as a word of a go.mod file.
func inGoMod(from string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)(^|\s)` + regexp.QuoteMeta(from) + `(\s|$|/)`)
}
