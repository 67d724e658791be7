package resp

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// These constants limit the values that a decoder keeps and follows.
const (
	maxDepth  = 32       // of nested aggregates
	maxLine   = 64 << 10 // bytes of a line, as in Redis
	maxText   = 64 << 10 // bytes kept of one string
	maxArg    = 1 << 10  // bytes kept of an argument, unless it may be a script
	maxKept   = 1 << 20  // bytes kept of one value
	maxElems  = 1024     // elements kept of an aggregate
	maxNumber = 1 << 40  // the largest length of a string or an aggregate
)

// Value is a scalar of RESP, or the head of an aggregate.
type Value struct {
	Type byte   // the first byte of its encoding, such as '+', '-', ':', '$', '*'
	Text []byte // of a string or an error, at most maxText bytes
	Int  int64  // value of an integer or a boolean
	Null bool
	Cut  bool // there was more than Text contains
}

// Reply is a value with the elements of an aggregate. Elements that are aggregates themselves
// come without their own elements. The memory belongs to the decoder or its caller: it is valid
// until the next value.
type Reply struct {
	Value
	Elems []Value
}

var (
	errDepth  = errors.New("aggregates are nested too deeply")
	errLine   = errors.New("a line is too long")
	errNumber = errors.New("a length is not a number in range")
)

// decoder splits one direction of a connection into values.
type decoder struct {
	requests bool               // it reads commands: arrays of strings, or inline commands
	emit     func(*Reply) error // called with each top-level value; an error ends the decoding
	failed   error              // the error of emit

	line  []byte // the part of a line that has arrived so far
	cut   bool   // the line had more bytes than were kept
	bulk  int64  // bytes of a string, with its line end, that have not arrived yet; 0: a line is read
	text  int64  // number of these bytes that are kept
	skip  bool   // no bytes of this string are kept
	stack []level
	value Reply
	kept  []byte // the bytes of value's texts
	spans []span // position of each text: root first, then elements
}

// level is an aggregate that has not ended.
type level struct {
	left      int64
	attribute bool // it describes the next value, and is not a value itself
	hidden    bool // it is an attribute, or is part of one
}

// span is the position of a value's text in kept.
type span struct{ from, to int }

// feed receives the next bytes. After an error the rest of the stream cannot be decoded.
func (d *decoder) feed(b []byte) error {
	for len(b) > 0 {
		if d.bulk > 0 {
			n := min(d.bulk, int64(len(b)))
			if k := min(n, d.text); k > 0 {
				d.kept = append(d.kept, b[:k]...)
				d.text -= k
			}
			d.bulk -= n
			b = b[n:]
			if d.bulk == 0 {
				d.endString()
			}
			if d.failed != nil {
				return d.failed
			}
			continue
		}
		if len(d.line) == 0 && len(d.stack) == 0 {
			if n := d.whole(b); n > 0 {
				b = b[n:]
				if d.failed = d.emit(&d.value); d.failed != nil {
					return d.failed
				}
				continue
			}
		}
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return d.keepLine(b)
		}
		line := b[:i]
		b = b[i+1:]
		if len(d.line) > 0 || len(line) > maxLine {
			if err := d.keepLine(line); err != nil {
				return err
			}
			line = d.line
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if err := d.onLine(line); err != nil {
			return err
		}
		if d.failed != nil {
			return d.failed
		}
		d.line, d.cut = d.line[:0], false
	}
	return nil
}

// keepLine keeps the part of a line that has arrived. Replies may have lines of any length.
func (d *decoder) keepLine(b []byte) error {
	room := maxLine - len(d.line)
	if len(b) > room {
		if d.requests {
			return errLine
		}
		b, d.cut = b[:room], true
	}
	d.line = append(d.line, b...)
	return nil
}

func (d *decoder) onLine(line []byte) error {
	if d.requests {
		return d.onRequestLine(line)
	}
	if len(line) == 0 {
		return errors.New("a reply begins with an empty line")
	}
	rest := line[1:]
	v := Value{Type: line[0]}
	switch v.Type {
	case '+', '-', ',', '(':
		v.Cut = d.cut
		d.begin(v)
		d.keep(rest)
		d.complete()
	case ':':
		n, err := strconv.ParseInt(string(rest), 10, 64)
		if err != nil {
			return fmt.Errorf("the reply %q is not an integer", clip(line))
		}
		v.Int = n
		d.begin(v)
		d.complete()
	case '#':
		if string(rest) == "t" {
			v.Int = 1
		}
		d.begin(v)
		d.complete()
	case '_':
		v.Null = true
		d.begin(v)
		d.complete()
	case '$', '=', '!':
		return d.beginString(v, rest)
	case '*', '~', '>', '%', '|':
		return d.beginAggregate(v, rest)
	default:
		return fmt.Errorf("a reply begins with %q", clip(line))
	}
	return nil
}

// onRequestLine handles a line of a command.
func (d *decoder) onRequestLine(line []byte) error {
	switch {
	case len(d.stack) > 0:
		if len(line) == 0 || line[0] != '$' {
			return fmt.Errorf("an argument begins with %q", clip(line))
		}
		if len(line) > 1 && line[1] == '-' {
			return errNumber
		}
		return d.beginString(Value{Type: '$'}, line[1:])
	case len(line) == 0:
	case line[0] != '*':
		d.inline(line)
	default:
		n, err := number(line[1:])
		if err != nil {
			return err
		}
		if n > 0 { // Redis ignores a command without arguments
			d.begin(Value{Type: '*'})
			d.stack = append(d.stack, level{left: n})
		}
	}
	return nil
}

// inline handles a command that is one line of words, which may be quoted.
func (d *decoder) inline(line []byte) {
	words, ok := SplitInline(line)
	if !ok || len(words) == 0 {
		return // Redis replies with an error, and closes the connection
	}
	d.begin(Value{Type: '*'})
	d.stack = append(d.stack, level{left: int64(len(words))})
	for _, w := range words {
		d.begin(Value{Type: '$'})
		d.keep(w)
		d.complete()
	}
}

func (d *decoder) beginString(v Value, length []byte) error {
	n, err := number(length)
	if err != nil {
		return err
	}
	if n < 0 {
		v.Null = true
		d.begin(v)
		d.complete()
		return nil
	}
	room := max(0, int64(maxKept-len(d.kept)))
	most := int64(maxText)
	if d.requests && len(d.value.Elems) > 0 && !d.carriesScript() {
		most = maxArg
	}
	d.text = min(n, most, room)
	v.Cut = d.text < n
	if !d.begin(v) {
		d.text = 0
	}
	d.bulk = n + 2
	return nil
}

// carriesScript reports whether the command that is being read has an argument that may be a
// script.
func (d *decoder) carriesScript() bool {
	switch name := d.kept[d.spans[1].from:d.spans[1].to]; len(name) {
	case 4:
		return name[0]|0x20 == 'e' // EVAL
	case 6:
		return name[0]|0x20 == 's' // SCRIPT
	}
	return false
}

// endString records the position of the text of the string that has just ended.
func (d *decoder) endString() {
	d.keep(nil)
	d.complete()
}

func (d *decoder) beginAggregate(v Value, length []byte) error {
	n, err := number(length)
	if err != nil {
		return err
	}
	if v.Type == '%' || v.Type == '|' {
		n *= 2
	}
	attribute := v.Type == '|'
	if n <= 0 {
		if attribute {
			return nil
		}
		v.Null = n < 0
		d.begin(v)
		d.complete()
		return nil
	}
	if len(d.stack) == maxDepth {
		return errDepth
	}
	hidden := attribute || d.hidden()
	if !attribute {
		d.begin(v)
	}
	d.stack = append(d.stack, level{left: n, attribute: attribute, hidden: hidden})
	return nil
}

func (d *decoder) hidden() bool {
	n := len(d.stack)
	return n > 0 && d.stack[n-1].hidden
}

// begin records a value if it is needed: the root, or one of its elements.
func (d *decoder) begin(v Value) (kept bool) {
	switch {
	case d.hidden():
		d.skip = true
		return false
	case len(d.stack) == 0:
		d.value.Value, d.value.Elems = v, d.value.Elems[:0]
		d.kept, d.spans = d.kept[:0], append(d.spans[:0], span{})
	case len(d.stack) == 1 && len(d.value.Elems) < maxElems:
		d.value.Elems = append(d.value.Elems, v)
		d.spans = append(d.spans, span{len(d.kept), len(d.kept)})
	default:
		d.skip = true
		return false
	}
	d.skip = false
	return true
}

// keep appends bytes to the text of the value that begin has recorded last.
func (d *decoder) keep(more []byte) {
	if d.skip {
		return
	}
	if room := maxKept - len(d.kept); len(more) > room {
		more = more[:max(0, room)]
	}
	d.kept = append(d.kept, more...)
	d.spans[len(d.spans)-1].to = len(d.kept)
}

// complete ends a value, and all aggregates that end with it.
func (d *decoder) complete() {
	for n := len(d.stack); n > 0; n = len(d.stack) {
		top := &d.stack[n-1]
		if top.left--; top.left > 0 {
			return
		}
		attribute := top.attribute
		d.stack = d.stack[:n-1]
		if attribute {
			return // the value that it describes follows
		}
	}
	d.value.Text = d.kept[d.spans[0].from:d.spans[0].to]
	for i := range d.value.Elems {
		d.value.Elems[i].Text = d.kept[d.spans[i+1].from:d.spans[i+1].to]
	}
	d.failed = d.emit(&d.value)
	if cap(d.kept) > maxText { // one large value must not keep its memory forever
		d.kept = nil
	}
}

// number parses a length: -1 means null.
func number(b []byte) (int64, error) {
	if len(b) > 0 && len(b) < 8 { // without allocating a string
		n, i := int64(0), 0
		for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
			n = 10*n + int64(b[i]-'0')
		}
		if i == len(b) {
			return n, nil
		}
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n > maxNumber || n < math.MinInt32 {
		return 0, errNumber
	}
	return max(n, -1), nil
}

// clip shortens a quotation in an error.
func clip(b []byte) []byte { return b[:min(len(b), 40)] }
