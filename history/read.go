package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// History is the record of one run.
type History struct {
	Header   Header
	Ops      []Op
	Torn     bool      // the last line is incomplete: the harness was killed while it wrote
	Ended    bool      // the last line is the end mark (FEnd), so the history is complete
	Problems []Problem // what is unusual in its lines but does not prevent reading
	Whole    int       // the number of all lines, if Ops has only an excerpt of them (ReadExcerpt); else 0
}

// MaxLine is the maximum length of a line, in bytes.
const MaxLine = 16 << 20

// Reader reads a history line by line. It keeps no lines, only the state that it needs to detect
// problems.
type Reader struct {
	lines  lines
	header Header
	d      decoder
	checks checks
	line   int // number of the last line
	read   int // number of operations read
	torn   bool
	err    error // io.EOF at the end of the history
}

// NewReader reads the header and returns a reader of the operations.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{lines: lines{in: bufio.NewReaderSize(in, 1<<18)}, checks: newChecks()}
	line, last, err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("history: the file is empty")
	case err != nil:
		return nil, fmt.Errorf("history: line 1: %w", err)
	}
	err = r.readHeader(line)
	if err != nil && last && !json.Valid(line) {
		return nil, errors.New("history: line 1: not a history: its header line is incomplete")
	}
	if err != nil {
		return nil, fmt.Errorf("history: line 1: %w", err)
	}
	return r, nil
}

// Header returns the history's header, its first line.
func (r *Reader) Header() Header { return r.header }

// Ended reports whether the last operation that was read is the end mark.
func (r *Reader) Ended() bool { return r.checks.ended }

// Problems returns the problems of the lines that were read so far.
func (r *Reader) Problems() []Problem { return r.checks.problems.list() }

// Read reads the next operation into op; at the end of the history it returns io.EOF. Other errors
// name the line. Read accepts a last line without a newline if it is complete; otherwise it leaves
// the line out.
func (r *Reader) Read(op *Op) error {
	if r.err != nil {
		return r.err
	}
	line, last, err := r.next()
	torn := false
	if err == nil {
		torn, err = r.d.decode(line, last, op)
	}
	return r.accept(op, err, torn, r.d.unknownFields)
}

// decode parses a line. torn: it is not an operation because its end was never written.
func (d *decoder) decode(line []byte, last bool, op *Op) (torn bool, err error) {
	if err = d.op(line, op); err != nil {
		return last && !json.Valid(line), fmt.Errorf("not an operation: %w", err)
	}
	return false, nil
}

// accept checks an operation that was decoded. err is io.EOF at the end, or why the line could not be read or decoded,
// and torn says that its end is missing. unknown holds the names of its unknown fields.
func (r *Reader) accept(op *Op, err error, torn bool, unknown []string) error {
	switch {
	case torn:
		r.torn = true
		err = io.EOF
	case err == nil:
		err = r.checks.op(op, r.read, r.line, unknown)
		if r.header.Format < 3 {
			op.readOldEnd()
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("history: line %d: %w", r.line, err)
	}
	r.err = err
	r.read++
	return err
}

// next returns the next line, and whether it is the last and has no newline.
func (r *Reader) next() (line []byte, last bool, err error) {
	r.line++
	line, last, err = r.lines.next()
	r.torn = r.torn || r.lines.cut
	return line, last, err
}

// lines splits a history.
type lines struct {
	in   *bufio.Reader
	long []byte // a line that is longer than the buffer
	cut  bool   // the compressed file was cut short
}

// next returns the next line, which is valid until the next call, and whether it is the last and has no newline.
func (l *lines) next() (line []byte, last bool, err error) {
	l.long = l.long[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if len(l.long)+len(part) > MaxLine {
			return nil, false, fmt.Errorf("the line is longer than %d MiB", MaxLine>>20)
		}
		if len(l.long) > 0 || errors.Is(err, bufio.ErrBufferFull) {
			l.long = append(l.long, part...)
			part = l.long
		}
		switch {
		case err == nil:
			return part, false, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the latter: a compressed file was cut short
			l.cut = l.cut || errors.Is(err, io.ErrUnexpectedEOF)
			if len(part) == 0 || strings.TrimSpace(string(part)) == "" {
				return nil, true, io.EOF
			}
			return part, true, nil
		default:
			return nil, false, err
		}
	}
}

// headerFields holds the names of a header's fields.
var headerFields = func() map[string]bool {
	names := map[string]bool{}
	for f := range reflect.TypeFor[Header]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}()

// ErrNotHistory reports that the first line of a file is not the header of a history.
var ErrNotHistory = errors.New("not a history's header")

func (r *Reader) readHeader(line []byte) error {
	fields, err := objectFields(line, maxFields)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotHistory, err)
	}
	known := map[string]json.RawMessage{}
	for _, f := range fields {
		if !headerFields[f.name] {
			r.checks.problems.unknownField(1, f.name)
			continue
		}
		known[f.name] = f.text
	}
	text, err := json.Marshal(known)
	if err == nil {
		err = json.Unmarshal(text, &r.header)
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Errorf("%w: field %q is a %s, but must be %s", ErrNotHistory, mismatch.Field, mismatch.Value, wanted(reflect.New(mismatch.Type).Interface()))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotHistory, err)
	}
	switch h := &r.header; {
	case h.Format == 0:
		return fmt.Errorf(`%w: no "lockpick_history" field`, ErrNotHistory)
	case h.Format > FormatVersion:
		return fmt.Errorf("format version %d, but this lockpick reads up to %d: use a newer lockpick", h.Format, FormatVersion)
	}
	return r.header.check()
}

// Read reads a whole history. If a line cannot be read, it returns an error with the line's
// number, except that it leaves out an incomplete last line and sets Torn.
func Read(r io.Reader) (*History, error) { return read(r, 0) }

// read does the same as Read, and allocates memory for room operations in advance.
func read(in io.Reader, room int) (*History, error) {
	r, err := NewReader(in)
	if err != nil {
		return nil, err
	}
	ops := make([]Op, 0, room)
	for {
		if len(ops) == cap(ops) {
			ops = append(ops, Op{})[:len(ops)]
		}
		err := r.Read(&ops[:len(ops)+1][len(ops)])
		if errors.Is(err, io.EOF) {
			return r.history(ops), nil
		}
		if err != nil {
			return nil, err
		}
		ops = ops[:len(ops)+1]
	}
}

// Scan reads a history and calls each with every operation, in order. It keeps no operations: the
// next one overwrites the operation and its Value. The history that it returns has everything
// except Ops. If each returns an error, Scan stops and returns it.
func Scan(in io.Reader, each func(*Op) error) (*History, error) {
	r, err := NewReader(in)
	if err != nil {
		return nil, err
	}
	if err := r.scan(each); !errors.Is(err, io.EOF) {
		return nil, err
	}
	return r.history(nil), nil
}

func (r *Reader) history(ops []Op) *History {
	if len(ops) == 0 {
		ops = nil
	}
	return &History{Header: r.header, Ops: ops, Torn: r.torn, Ended: r.Ended(), Problems: r.Problems()}
}
