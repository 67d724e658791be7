package shadow

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// These constants limit what a server can make the harness keep.
const (
	maxLine  = 16 << 20 // bytes of a line or a string
	maxDepth = 8        // of nested aggregates
	maxReply = 64 << 20 // bytes of one reply with all its elements
)

// value is a value of RESP3.
type value struct {
	kind  byte // the first byte of its encoding, such as '+', '$', '>'
	text  []byte
	elems []value
	cut   bool // the line was longer than maxLine, and text is its beginning
	at    time.Time
}

var errProtocol = errors.New("the server does not speak RESP3")

// reader decodes the values of one connection. It allocates memory only for bytes that have arrived.
type reader struct {
	buffer *bufio.Reader
	kept   int // bytes of the current reply
}

func newReader(r io.Reader) *reader { return &reader{buffer: bufio.NewReaderSize(r, 64<<10)} }

// next reads a value. The result does not refer to the reader's memory.
func (r *reader) next() (value, error) {
	r.kept = 0
	v, err := r.read(0)
	v.at = time.Now()
	return v, err
}

func (r *reader) read(depth int) (value, error) {
	text, cut, err := r.line()
	if err != nil {
		return value{}, err
	}
	if len(text) == 0 {
		return value{}, errProtocol
	}
	v := value{kind: text[0], text: text[1:], cut: cut}
	switch v.kind {
	case '+', '-', ':', ',', '#', '_', '(':
		return v, nil
	}
	if cut {
		return v, errProtocol
	}
	n, err := strconv.ParseInt(string(v.text), 10, 64)
	if err != nil || n < -1 {
		return v, errProtocol
	}
	v.text = nil
	switch v.kind {
	case '$', '=', '!':
		if n < 0 {
			v.kind = '_'
			return v, nil
		}
		v.text, err = r.text(n)
		return v, err
	case '%', '|':
		n *= 2
	case '*', '~', '>':
	default:
		return v, errProtocol
	}
	if depth == maxDepth {
		return v, fmt.Errorf("%w: aggregates are nested too deeply", errProtocol)
	}
	for range max(n, 0) {
		e, err := r.read(depth + 1)
		if err != nil {
			return v, err
		}
		if err := r.keep(16); err != nil {
			return v, err
		}
		v.elems = append(v.elems, e)
	}
	if v.kind == '|' { // an attribute of the next value
		return r.read(depth)
	}
	return v, nil
}

// line reads a line without its end. cut reports that it was longer than maxLine.
func (r *reader) line() (text []byte, cut bool, err error) {
	for {
		part, err := r.buffer.ReadSlice('\n')
		if room := maxLine - len(text); len(part) > room {
			part, cut = part[:room], true
		}
		text = append(text, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, cut, err
		}
	}
	if err := r.keep(len(text)); err != nil {
		return nil, cut, err
	}
	if n := len(text); !cut && n >= 2 && text[n-2] == '\r' {
		text = text[:n-2]
	}
	return text, cut, nil
}

// text reads a string of n bytes and the end of its line.
func (r *reader) text(n int64) ([]byte, error) {
	if n > maxLine {
		return nil, fmt.Errorf("a string of %d bytes is too long", n)
	}
	if err := r.keep(int(n)); err != nil {
		return nil, err
	}
	var b []byte
	for left := int(n) + 2; left > 0; {
		from := len(b)
		b = append(b, make([]byte, min(left, 64<<10))...)
		if _, err := io.ReadFull(r.buffer, b[from:]); err != nil {
			return nil, err
		}
		left -= len(b) - from
	}
	return b[:n], nil
}

func (r *reader) keep(n int) error {
	if r.kept += n; r.kept > maxReply {
		return fmt.Errorf("a reply is longer than %d bytes", maxReply)
	}
	return nil
}
