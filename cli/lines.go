package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"lockpick/history"
)

// linesAround is the number of lines printed before and after each requested line, the same as in the HTML
// report.
const linesAround = 10

// printLines prints the lines of a history that have the wanted indices, as they were recorded, and the lines
// around them, in the format of grep -n -C: "18:" precedes a wanted line, "17-" another one.
func printLines(w io.Writer, path string, wanted []int) (err error) {
	if i := slices.IndexFunc(wanted, func(n int) bool { return n < 0 }); i >= 0 {
		return usageError{fmt.Errorf("--lines %d: indices count from 0", wanted[i])}
	}
	f, err := history.Open(path)
	if err != nil {
		return orUsage(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(w)
	in := bufio.NewScanner(f)
	in.Buffer(make([]byte, 1<<16), history.MaxLine)
	next, printed, found := 0, -1, 0 // index of a line without one; last printed index; wanted lines found
	for in.Scan() {
		line := in.Bytes()
		if index, ok := indexOf(line, next); ok {
			next = index + 1
			near := slices.ContainsFunc(wanted, func(n int) bool { return n-linesAround <= index && index <= n+linesAround })
			if near {
				if printed >= 0 && index > printed+1 {
					fmt.Fprintln(out, "--")
				}
				sign := '-'
				if slices.Contains(wanted, index) {
					sign = ':'
					found++
				}
				fmt.Fprintf(out, "%d%c%s\n", index, sign, line)
				printed = index
			}
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return usageError{fmt.Errorf("read %s: a line is longer than %d MiB", path, history.MaxLine>>20)}
	case err != nil:
		return fmt.Errorf("read %s: %w", path, err)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if found == 0 {
		return usageError{fmt.Errorf("no line of the history has one of these indices: the last is %d", next-1)}
	}
	return nil
}

// indexOf returns the index of a line, or next if the line has none. It returns false for the header and for
// empty lines.
func indexOf(line []byte, next int) (int, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"index":`))
	if !ok {
		return next, len(bytes.TrimSpace(line)) > 0 && !bytes.Contains(line[:min(len(line), 40)], []byte(`"lockpick_history"`))
	}
	digits, _, _ := bytes.Cut(rest, []byte(","))
	n, err := strconv.Atoi(string(bytes.TrimRight(digits, "}")))
	if err != nil {
		return next, true
	}
	return n, true
}
