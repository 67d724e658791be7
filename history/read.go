package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// History is what was recorded of one run.
type History struct {
	Header Header
	Ops    []Op
	Torn   bool // the last line was cut short: the harness was killed while it wrote
}

// ReadFile reads the history in a file.
func ReadFile(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	var room int64
	if info, err := f.Stat(); err == nil {
		room = info.Size() / lineSize
	}
	h, err := read(f, int(room))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// lineSize is how many bytes an operation's line has, about.
const lineSize = 190

// Read reads a history. A last line without its newline is left out and sets
// Torn; any other line that cannot be read is an error that names its number.
func Read(r io.Reader) (*History, error) { return read(r, 0) }

// read is Read, with room for as many operations as are expected.
func read(r io.Reader, room int) (*History, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	h := &History{}
	if room > 0 {
		h.Ops = make([]Op, 0, room)
	}
	var d decoder
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			var rest []byte
			line = bytes.Clone(line)
			rest, err = in.ReadBytes('\n')
			line = append(line, rest...)
		}
		if errors.Is(err, io.EOF) {
			if n == 1 && len(line) == 0 {
				return nil, errors.New("history: the file is empty")
			}
			if n == 1 {
				return nil, errors.New("history: line 1: not a history: its header line is incomplete")
			}
			h.Torn = len(bytes.TrimSpace(line)) > 0
			return h, nil
		}
		if err != nil {
			return nil, fmt.Errorf("history: line %d: %w", n, err)
		}
		if n == 1 {
			if err := readHeader(line, &h.Header); err != nil {
				return nil, err
			}
			continue
		}
		var op Op
		if err := d.op(line, &op); err != nil {
			return nil, fmt.Errorf("history: line %d: not an operation: %w", n, err)
		}
		if !slices.Contains([]Type{Invoke, OK, Fail, Info}, op.Type) {
			return nil, fmt.Errorf("history: line %d: not an operation: type %q is none of invoke, ok, fail, info", n, op.Type)
		}
		if op.Index != len(h.Ops) {
			return nil, fmt.Errorf("history: line %d: index %d where %d was expected: lines are missing or out of order", n, op.Index, len(h.Ops))
		}
		if len(h.Ops) > 0 && op.Time < h.Ops[len(h.Ops)-1].Time {
			return nil, fmt.Errorf("history: line %d: time %d lies before the time of the line above", n, int64(op.Time))
		}
		h.Ops = append(h.Ops, op)
	}
}

func readHeader(line []byte, h *Header) error {
	if err := json.Unmarshal(line, h); err != nil {
		return fmt.Errorf("history: line 1: not a history's header: %w", err)
	}
	switch {
	case h.Format == 0:
		return errors.New(`history: line 1: not a history's header: no "lockpick_history" field`)
	case h.Format > FormatVersion:
		return fmt.Errorf("history: line 1: format version %d, but this lockpick reads up to %d: use a newer lockpick", h.Format, FormatVersion)
	}
	return nil
}
