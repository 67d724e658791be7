package history

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"time"
	"unsafe"
)

// decoder parses operations. It parses a line in one pass if no field occurs twice, every unknown
// field is a number, a string, true or false, no name contains an escape, and no number is longer
// than 18 digits or has a fraction. strict parses every other line; it is slower and reports errors.
type decoder struct {
	line          []byte
	at            int
	texts         interner
	values        []Value  // allocated in advance for the next operations
	again         *Value   // reused as the value of every operation, if the caller keeps none
	unknownFields []string // names of unknown fields in the line
}

// op parses one line. Afterwards d.unknownFields holds the names of its unknown fields.
func (d *decoder) op(line []byte, op *Op) error {
	d.line, d.at, d.unknownFields = line, 0, d.unknownFields[:0]
	*op = Op{}
	if d.plainOp(op) && d.end() {
		return nil
	}
	*op = Op{}
	return d.strict(line, op)
}

// plainOp parses an operation. It returns false if strict must parse the line.
func (d *decoder) plainOp(op *Op) bool { return d.object(opFields, unsafe.Pointer(op), "") }

// object parses an object with the fields of a struct. It returns false if strict must parse the line.
func (d *decoder) object(all []field, into unsafe.Pointer, inside string) bool {
	if !d.skip('{') {
		return false
	}
	if d.skip('}') {
		return true
	}
	next, seen := 0, uint64(0)
	for {
		name, ok := d.name()
		if !ok {
			return false
		}
		if i := fieldNamed(all, name, next); i < 0 {
			ok = d.skipUnknown(inside, name)
		} else {
			ok = seen&(1<<i) == 0 && d.field(&all[i], into)
			next, seen = i+1, seen|1<<i
		}
		if !ok {
			return false
		}
		if d.skip('}') {
			return true
		}
		if !d.skip(',') {
			return false
		}
	}
}

// field parses the value of a field.
func (d *decoder) field(f *field, into unsafe.Pointer) (ok bool) {
	switch f.kind {
	case textField:
		return d.text(fieldAt[string](f, into))
	case typeField:
		return d.kind(fieldAt[Type](f, into))
	case numberField:
		return number(d, fieldAt[int64](f, into))
	case countField:
		var n int64
		ok = number(d, &n)
		*fieldAt[int](f, into) = int(n)
	case flagField:
		return d.boolean(fieldAt[bool](f, into))
	case offsetField:
		var n time.Duration
		ok = number(d, &n)
		*fieldAt[*time.Duration](f, into) = &n
	case listField:
		return d.list(fieldAt[[]string](f, into))
	case textsField:
		return plainMap(d, fieldAt[map[string]string](f, into), (*decoder).text)
	case timesField:
		return plainMap(d, fieldAt[map[string]time.Duration](f, into), number)
	case valueField:
		v := d.newValue()
		*fieldAt[*Value](f, into) = v
		return d.object(valueFields, unsafe.Pointer(v), "value.")
	}
	return ok // a rate has a fraction
}

// skipUnknown skips an unknown field and records its name. It returns false if strict must parse the line.
func (d *decoder) skipUnknown(inside string, name []byte) bool {
	full := inside + string(name)
	for _, before := range d.unknownFields {
		if before == full {
			return false
		}
	}
	if len(d.unknownFields) == maxFields {
		return false
	}
	d.unknownFields = append(d.unknownFields, full)
	// Choose the parser by the first byte: one that fails may have moved d.at.
	if d.at == len(d.line) {
		return false
	}
	ok := false
	switch d.line[d.at] {
	case '"':
		var s string
		ok = d.text(&s)
	case 't', 'f':
		var is bool
		ok = d.boolean(&is)
	default:
		_, ok = d.number()
	}
	return ok
}

// list parses a list of strings.
func (d *decoder) list(into *[]string) bool {
	if !d.skip('[') {
		return false
	}
	*into = []string{}
	if d.skip(']') {
		return true
	}
	for {
		var s string
		if !d.text(&s) {
			return false
		}
		*into = append(*into, s)
		if d.skip(']') {
			return true
		}
		if !d.skip(',') {
			return false
		}
	}
}

// plainMap parses an object whose values all have one type.
func plainMap[V any](d *decoder, into *map[string]V, item func(*decoder, *V) bool) bool {
	if !d.skip('{') {
		return false
	}
	m := map[string]V{}
	*into = m
	if d.skip('}') {
		return true
	}
	for n := 1; ; n++ {
		name, ok := d.name()
		if !ok {
			return false
		}
		var v V
		key := d.texts.get(name)
		if ok = item(d, &v); !ok {
			return false
		}
		if m[key] = v; len(m) != n { // a name occurs twice
			return false
		}
		if d.skip('}') {
			return true
		}
		if !d.skip(',') {
			return false
		}
	}
}

// newValue returns an empty Value. It allocates values that the caller keeps in groups.
func (d *decoder) newValue() *Value {
	if d.again != nil {
		*d.again = Value{}
		return d.again
	}
	if len(d.values) == 0 {
		d.values = make([]Value, 64)
	}
	v := &d.values[0]
	d.values = d.values[1:]
	return v
}

// skip skips the byte c and the white space after it, and reports whether c was next.
func (d *decoder) skip(c byte) bool {
	if d.at >= len(d.line) || d.line[d.at] != c {
		return false
	}
	d.at++
	if d.at < len(d.line) && d.line[d.at] <= ' ' {
		d.spaces()
	}
	return true
}

// spaces skips white space.
func (d *decoder) spaces() {
	for d.at < len(d.line) {
		switch d.line[d.at] {
		case ' ', '\t', '\r', '\n':
			d.at++
		default:
			return
		}
	}
}

// end reports whether only white space follows.
func (d *decoder) end() bool {
	d.spaces()
	return d.at == len(d.line)
}

// name parses a field's name and the colon after it.
func (d *decoder) name() ([]byte, bool) {
	b, ok := d.quoted()
	return b, ok && d.skip(':')
}

// quoted parses an ASCII string without escapes, and the white space after it.
func (d *decoder) quoted() ([]byte, bool) {
	if d.at >= len(d.line) || d.line[d.at] != '"' {
		return nil, false
	}
	rest := d.line[d.at+1:]
	i := 0
	for ; i+8 <= len(rest); i += 8 {
		if stops := stopsIn(binary.LittleEndian.Uint64(rest[i:])); stops != 0 {
			i += bits.TrailingZeros64(stops) / 8
			break
		}
	}
	for ; i < len(rest); i++ {
		c := rest[i]
		if c == '"' {
			d.at += i + 2
			if d.at < len(d.line) && d.line[d.at] <= ' ' {
				d.spaces()
			}
			return rest[:i], true
		}
		if c == '\\' || c < ' ' || c >= 0x80 {
			return nil, false
		}
	}
	return nil, false
}

// stopsIn checks eight bytes at once, which makes parsing a line a fifth faster. The lowest bit
// set in its result is the highest bit of the first byte that is a quotation mark, a backslash,
// below a space or beyond ASCII.
func stopsIn(word uint64) uint64 {
	const each, high = 0x0101010101010101, 0x8080808080808080
	quote, backslash := word^each*'"', word^each*'\\'
	return ((quote-each)&^quote | (backslash-each)&^backslash | (word-each*' ')&^word | word) & high
}

// text parses a string.
func (d *decoder) text(into *string) bool {
	if b, ok := d.quoted(); ok {
		*into = d.texts.get(b)
		return true
	}
	return d.escaped(into)
}

// escaped parses a string that may have escapes and characters beyond ASCII.
func (d *decoder) escaped(into *string) bool {
	if d.at >= len(d.line) || d.line[d.at] != '"' {
		return false
	}
	for i := d.at + 1; i < len(d.line); i++ {
		switch d.line[i] {
		case '\\':
			i++
		case '"':
			text := d.line[d.at : i+1]
			d.at = i + 1
			d.spaces()
			return json.Unmarshal(text, into) == nil
		}
	}
	return false
}

// kind parses a type. It accepts unknown types, which checks refuse later.
func (d *decoder) kind(into *Type) bool {
	b, ok := d.quoted()
	if !ok {
		return false
	}
	switch string(b) {
	case string(OK):
		*into = OK
	case string(Invoke):
		*into = Invoke
	case string(Info):
		*into = Info
	case string(Fail):
		*into = Fail
	default:
		*into = Type(b)
	}
	return true
}

func number[T ~int64](d *decoder, into *T) bool {
	n, ok := d.number()
	*into = T(n)
	return ok
}

// number parses an integer of up to 18 digits.
func (d *decoder) number() (n int64, ok bool) {
	line, at := d.line, d.at
	minus := at < len(line) && line[at] == '-'
	if minus {
		at++
	}
	from := at
	for at < len(line) && line[at]-'0' <= 9 {
		n = 10*n + int64(line[at]-'0')
		at++
	}
	digits := at - from
	if digits == 0 || digits > 18 || digits > 1 && line[from] == '0' {
		return 0, false
	}
	if minus {
		n = -n
	}
	d.at = at
	if at < len(line) && line[at] <= ' ' {
		d.spaces()
	}
	return n, true
}

// boolean parses true or false.
func (d *decoder) boolean(into *bool) bool {
	for _, word := range [2]string{"true", "false"} {
		if rest := d.line[d.at:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			d.at += len(word)
			d.spaces()
			*into = word == "true"
			return true
		}
	}
	return false
}
