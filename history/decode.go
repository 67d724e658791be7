package history

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"time"
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

// Bits for the fields of Op and Value, to detect a field that occurs twice.
const (
	bitIndex = 1 << iota
	bitTime
	bitProcess
	bitType
	bitF
	bitKey
	bitValue
	bitError
)

const (
	bitToken = 1 << iota
	bitValidUntil
	bitFence
	bitWritten
	bitFenced
	bitFixed
	bitClient
	bitCommand
	bitYes
	bitTook
	bitTTL
	bitDelay
	bitRedisKey
	bitForm
	bitPoint
	bitState
	bitID
	bitPhase
	bitBit
	bitEvidence
	bitBound
	bitKeys
	bitExpires
	bitMasters
	bitClients
	bitParams
	bitOffset
	bitMode
	bitPermits
)

// plainOp parses an operation. It returns false if strict must parse the line.
func (d *decoder) plainOp(op *Op) bool {
	if !d.skip('{') {
		return false
	}
	for seen := 0; ; {
		name, ok := d.name()
		if !ok {
			return false
		}
		bit := 0
		switch string(name) {
		case "index":
			var n int64
			bit = bitIndex
			n, ok = d.number()
			op.Index = int(n)
		case "time":
			bit, ok = bitTime, number(d, &op.Time)
		case "process":
			bit, ok = bitProcess, d.text(&op.Process)
		case "type":
			bit, ok = bitType, d.kind(&op.Type)
		case "f":
			bit, ok = bitF, d.text(&op.F)
		case "key":
			bit, ok = bitKey, d.text(&op.Key)
		case "value":
			bit = bitValue
			op.Value = d.newValue()
			ok = d.plainValue(op.Value)
		case "error":
			bit, ok = bitError, d.text(&op.Error)
		default:
			ok = d.skipUnknown("", name)
		}
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
		if d.skip('}') {
			return true
		}
		if !d.skip(',') {
			return false
		}
	}
}

func (d *decoder) plainValue(v *Value) bool {
	if !d.skip('{') {
		return false
	}
	if d.skip('}') {
		return true
	}
	for seen := 0; ; {
		name, ok := d.name()
		if !ok {
			return false
		}
		bit := 0
		switch string(name) {
		case "token":
			bit, ok = bitToken, d.text(&v.Token)
		case "valid_until":
			bit, ok = bitValidUntil, number(d, &v.ValidUntil)
		case "fence":
			bit, ok = bitFence, number(d, &v.Fence)
		case "mode":
			bit, ok = bitMode, d.text(&v.Mode)
		case "permits":
			var n int64
			bit = bitPermits
			n, ok = d.number()
			v.Permits = int(n)
		case "value":
			bit, ok = bitWritten, number(d, &v.Value)
		case "fenced":
			bit, ok = bitFenced, d.boolean(&v.Fenced)
		case "fixed":
			bit, ok = bitFixed, d.boolean(&v.Fixed)
		case "client":
			bit, ok = bitClient, d.text(&v.Client)
		case "command":
			bit, ok = bitCommand, d.text(&v.Command)
		case "yes":
			bit, ok = bitYes, d.boolean(&v.Yes)
		case "took":
			bit, ok = bitTook, number(d, &v.Took)
		case "ttl":
			bit, ok = bitTTL, number(d, &v.TTL)
		case "delay":
			bit, ok = bitDelay, number(d, &v.Delay)
		case "redis_key":
			bit, ok = bitRedisKey, d.text(&v.RedisKey)
		case "form":
			bit, ok = bitForm, d.text(&v.Form)
		case "point":
			bit, ok = bitPoint, d.text(&v.Point)
		case "state":
			bit, ok = bitState, d.text(&v.State)
		case "id":
			var n int64
			bit = bitID
			n, ok = d.number()
			v.ID = int(n)
		case "phase":
			bit, ok = bitPhase, d.text(&v.Phase)
		case "bit":
			bit, ok = bitBit, d.boolean(&v.TookEffect)
		case "evidence":
			bit, ok = bitEvidence, d.text(&v.Evidence)
		case "bound":
			bit, ok = bitBound, number(d, &v.Bound)
		case "keys":
			bit, ok = bitKeys, plainMap(d, &v.Keys, (*decoder).text)
		case "expires":
			bit, ok = bitExpires, plainMap(d, &v.Expires, number)
		case "masters":
			bit, ok = bitMasters, d.list(&v.Masters)
		case "clients":
			bit, ok = bitClients, d.list(&v.Clients)
		case "params":
			bit, ok = bitParams, plainMap(d, &v.Params, (*decoder).text)
		case "offset":
			bit, v.Offset = bitOffset, new(time.Duration)
			ok = number(d, v.Offset)
		case "rate":
			return false // a fraction
		default:
			ok = d.skipUnknown("value.", name)
		}
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
		if d.skip('}') {
			return true
		}
		if !d.skip(',') {
			return false
		}
	}
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
