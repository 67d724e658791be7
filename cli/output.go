package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockpick/campaign/judge"
	"lockpick/internal/wholefile"
)

// writesFile annotates the flags that name a file to write.
const writesFile = "lockpick_writes_file"

// outputFlag adds a flag that names a file to write, or with - stdout.
func outputFlag(cmd *cobra.Command, path *string, name, shorthand, usage string) {
	cmd.Flags().StringVarP(path, name, shorthand, "", usage+"; - is stdout")
	_ = cmd.Flags().SetAnnotation(name, writesFile, nil) // fails only if there is no such flag
}

// isStdout reports whether the name of a file to write means stdout.
func isStdout(path string) bool { return path == "-" || path == "/dev/stdout" }

// outputName returns the name of a file to write for messages.
func outputName(path string) string {
	if isStdout(path) {
		return "stdout"
	}
	return path
}

// clearStdout makes room on stdout for the file that a flag writes there: the report for people goes to stderr
// (commands print it to OutOrStdout). It returns an error if two outputs have to go to stdout.
func clearStdout(cmd *cobra.Command, _ []string) error {
	var names []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, writes := f.Annotations[writesFile]; writes && isStdout(f.Value.String()) || f.Name == "json" && f.Value.String() == "true" {
			names = append(names, "--"+f.Name)
		}
	})
	switch {
	case len(names) > 1:
		return usageError{fmt.Errorf("%s write to stdout: give all but one a file", strings.Join(names, " and "))}
	case len(names) == 1 && names[0] != "--json":
		cmd.SetOut(os.Stderr)
	}
	return nil
}

// writeOutput writes the file that a flag names. If that is not possible, the flag is wrong. dir is the folder
// of the file, for relative links.
func writeOutput(path string, write func(w io.Writer, dir string) error) error {
	if isStdout(path) {
		return write(os.Stdout, ".")
	}
	err := wholefile.Write(path, 0o644, func(f *os.File) error { return write(f, filepath.Dir(path)) })
	if refused := (*fs.PathError)(nil); errors.As(err, &refused) {
		return usageError{err}
	}
	return err
}

// baselineAt reads the baseline that --baseline names. It returns nil if none is named or the file does not exist yet.
func baselineAt[R any](path string, read func(string) (*R, error)) (*R, error) {
	switch {
	case path == "":
		return nil, nil
	case isStdout(path):
		return nil, usageError{fmt.Errorf("--baseline %s: it is read and written, so it must be a file", path)}
	}
	r, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usageError{err}
	}
	return r, nil
}

// keepBaseline writes a result as the baseline, if one is named that does not exist yet or is to be replaced. use says
// what it is good for.
func keepBaseline(path string, replace, interrupted bool, write func(string) error, use string) error {
	if path == "" || !replace || interrupted {
		return nil
	}
	if err := write(path); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "wrote the baseline %s: commit it, and %s\n", path, use)
	return nil
}

// outputs are the files that flags name, with what writes them. Files without a name are left out.
type outputs []struct {
	path  string
	write func(w io.Writer, dir string) error
}

func (all outputs) write() error {
	for _, f := range all {
		if f.path == "" {
			continue
		}
		if err := writeOutput(f.path, f.write); err != nil {
			return err
		}
	}
	return nil
}

// untilDone is a writer that returns the cause of a context as soon as that ends.
type untilDone struct {
	ctx context.Context
	io.Writer
}

func (w *untilDone) Write(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, &judge.HarnessError{Err: context.Cause(w.ctx)}
	}
	return w.Writer.Write(p)
}

// writeStored writes a file of the store completely or not at all: after an error, any earlier file of that name
// is unchanged. dir is the folder of the file, for relative links.
func writeStored(path string, write func(w io.Writer, dir string) error) error {
	return wholefile.Replace(path, 0o644, func(f *os.File) error { return write(f, filepath.Dir(path)) })
}
