package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// File is a YAML file that was decoded. It finds its fields for errors, and decodes nodes with the file's anchors.
type File struct {
	*yaml.Decoder
	tree  *ast.File
	text  []byte
	known string
	of    []any
}

// ErrEmpty reports a file without content.
var ErrEmpty = errors.New("1:1: the file is empty")

// Decode decodes a file into a struct, and rejects unknown fields. known lists the valid ones for that error. also has
// structs that the caller decodes from nodes of the file. Errors begin with the line and the column.
func Decode(b []byte, into any, known string, also ...any) (f *File, err error) {
	defer RefusePanic(&err)
	if !bytes.HasSuffix(b, []byte("\n")) {
		b = append(bytes.Clone(b), '\n') // the parser drops a tag at the very end
	}
	f = &File{Decoder: yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()), text: b, known: known, of: append(also, into)}
	if f.tree, err = parse(b, known); err != nil {
		return f, err
	}
	if err = f.Decode(into); errors.Is(err, io.EOF) {
		return f, ErrEmpty
	}
	return f, f.Explain(err)
}

// Has reports whether the file sets a field.
func (f *File) Has(field string) bool {
	p, err := yaml.PathString("$." + field)
	if err != nil {
		return false
	}
	node, err := p.FilterFile(f.tree)
	return err == nil && node != nil
}

// At puts the line and the column of a field, or of the nearest one above it, before an error.
func (f *File) At(field string, err error) error {
	if t := Find(f.tree, field); t != nil {
		return fmt.Errorf("%d:%d: %w", t.Position.Line, t.Position.Column, err)
	}
	return fmt.Errorf("1:1: %w", err)
}

// Load reads a file with parse. Errors name the file, or what it is if it cannot be read.
func Load[T any](file, what string, parse func([]byte) (T, error)) (v T, err error) {
	b, err := read(file)
	if err != nil {
		return v, fmt.Errorf("%s: %w", what, err)
	}
	if v, err = parse(b); err != nil {
		return v, fmt.Errorf("%s:%w", file, err)
	}
	return v, nil
}

// List collects the items of several files.
type List[T any] struct {
	What  string // an item, in errors
	Parse func([]byte) ([]T, error)
	ID    func(*T) string // no two items have the same one
	Items []T

	from map[string]string // the file of each item, by its ID
}

// AddFolder adds the items of the files in a folder of the program, in the order of their names. shown is its name in errors.
func (l *List[T]) AddFolder(files fs.FS, folder, shown string) error {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		b, err := fs.ReadFile(files, path.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		name := path.Join(shown, e.Name())
		items, err := l.Parse(b)
		if err != nil {
			return fmt.Errorf("%s:%w", name, err)
		}
		if err := l.Add(name, items); err != nil {
			return err
		}
	}
	return nil
}

// Add adds the items of a file.
func (l *List[T]) Add(file string, items []T) error {
	if l.from == nil {
		l.from = map[string]string{}
	}
	for i := range items {
		id := l.ID(&items[i])
		if before, twice := l.from[id]; twice {
			return fmt.Errorf("%s: the %s %s is in %s already: give it another id", file, l.What, id, before)
		}
		l.from[id] = file
	}
	l.Items = append(l.Items, items...)
	return nil
}
