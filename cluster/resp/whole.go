package resp

import "bytes"

// maxWholeArgs limits the arguments of a command that is decoded in one piece.
const maxWholeArgs = 64

// whole decodes a value that is at the beginning of b in one piece and has a common form. The text
// stays where it is. It returns the value's length; 0: the value must be decoded step by step.
// That gives the same value (FuzzConversation compares both), at several times the cost.
func (d *decoder) whole(b []byte) int {
	if d.requests {
		return d.wholeCommand(b)
	}
	return d.wholeReply(b)
}

func (d *decoder) wholeCommand(b []byte) int {
	if b[0] != '*' {
		return 0
	}
	n, at := length(b, 1)
	if n < 1 || n > maxWholeArgs {
		return 0
	}
	elems := d.value.Elems[:0]
	for range n {
		if at >= len(b) || b[at] != '$' {
			return 0
		}
		size, from := length(b, at+1)
		if size < 0 || size > maxArg || from+size+2 > len(b) {
			return 0
		}
		elems = append(elems, Value{Type: '$', Text: b[from : from+size]})
		at = from + size + 2
	}
	d.value.Value, d.value.Elems = Value{Type: '*'}, elems
	return at
}

func (d *decoder) wholeReply(b []byte) int {
	v := Value{Type: b[0]}
	end := 0
	switch v.Type {
	case '+', '-':
		i := bytes.IndexByte(b, '\n')
		if i < 2 || i > maxArg || b[i-1] != '\r' {
			return 0
		}
		v.Text, end = b[1:i-1], i+1
	case ':':
		n, after := length(b, 1)
		if n < 0 {
			return 0
		}
		v.Int, end = int64(n), after
	case '$':
		n, from := length(b, 1)
		if n < 0 || n > maxArg || from+n+2 > len(b) {
			return 0
		}
		v.Text, end = b[from:from+n], from+n+2
	default:
		return 0
	}
	d.value.Value, d.value.Elems = v, d.value.Elems[:0]
	return end
}

// length parses a number of up to six digits and the end of its line. It returns the number and
// the position after it; -1: there is no such number.
func length(b []byte, at int) (n, after int) {
	for i := at; i < len(b) && i <= at+6; i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			n = 10*n + int(c-'0')
		case c == '\r' && i > at && i+1 < len(b) && b[i+1] == '\n':
			return n, i + 2
		default:
			return -1, 0
		}
	}
	return -1, 0
}
