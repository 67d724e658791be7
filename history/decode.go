package history

import "encoding/json"

// decoder reads operations. Nearly all lines are votes and the like, in the plain form
// in which appendOp writes them; these it reads by itself, in an eighth of the time.
// Whatever is the least unusual (spaces, escapes, lists, fields that it does not know)
// it leaves to encoding/json, so it accepts and rejects exactly what that does.
type decoder struct {
	line []byte
	at   int
	seen map[string]string // texts of before: a token stands on a dozen lines
	room []Value
}

// op reads one line.
func (d *decoder) op(line []byte, op *Op) error {
	d.line, d.at = line, 0
	if d.plain(op) {
		return nil
	}
	*op = Op{}
	return json.Unmarshal(line, op)
}

// plain reads a line in the plain form; false if it is not in it.
func (d *decoder) plain(op *Op) bool {
	whole := d.object(func(name []byte) bool {
		switch string(name) {
		case "index":
			n, ok := d.number()
			op.Index = int(n)
			return ok
		case "time":
			return number(d, &op.Time)
		case "process":
			return text(d, &op.Process)
		case "type":
			return text(d, &op.Type)
		case "f":
			return text(d, &op.F)
		case "key":
			return text(d, &op.Key)
		case "value":
			if op.Value != nil { // encoding/json puts two together
				return false
			}
			op.Value = d.make()
			return d.value(op.Value)
		case "error":
			return text(d, &op.Error)
		}
		return false
	})
	return whole && d.skip('\n') && d.at == len(d.line)
}

func (d *decoder) value(v *Value) bool {
	return d.object(func(name []byte) bool {
		switch string(name) {
		case "token":
			return text(d, &v.Token)
		case "valid_until":
			return number(d, &v.ValidUntil)
		case "fence":
			return number(d, &v.Fence)
		case "value":
			return number(d, &v.Value)
		case "fenced":
			return d.yes(&v.Fenced)
		case "client":
			return text(d, &v.Client)
		case "command":
			return text(d, &v.Command)
		case "yes":
			return d.yes(&v.Yes)
		case "took":
			return number(d, &v.Took)
		case "ttl":
			return number(d, &v.TTL)
		case "delay":
			return number(d, &v.Delay)
		case "redis_key":
			return text(d, &v.RedisKey)
		case "point":
			return text(d, &v.Point)
		case "state":
			return text(d, &v.State)
		}
		return false // one of those that are rare
	})
}

// object reads an object that is not empty. field reads what follows a name.
func (d *decoder) object(field func(name []byte) bool) bool {
	if !d.skip('{') {
		return false
	}
	for {
		name, ok := d.quoted()
		if !ok || !d.skip(':') || !field(name) {
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

// make is a new Value.
func (d *decoder) make() *Value {
	if len(d.room) == 0 {
		d.room = make([]Value, 64)
	}
	v := &d.room[0]
	d.room = d.room[1:]
	return v
}

// skip passes over one byte, if it is that.
func (d *decoder) skip(c byte) bool {
	if d.at < len(d.line) && d.line[d.at] == c {
		d.at++
		return true
	}
	return false
}

// quoted reads a string without anything that has or needs an escape.
func (d *decoder) quoted() ([]byte, bool) {
	if !d.skip('"') {
		return nil, false
	}
	for i := d.at; i < len(d.line); i++ {
		switch c := d.line[i]; {
		case c == '"':
			b := d.line[d.at:i]
			d.at = i + 1
			return b, true
		case c == '\\' || c < ' ' || c >= 0x80:
			return nil, false
		}
	}
	return nil, false
}

// text reads a string. Texts that are alike share their bytes.
func text[T ~string](d *decoder, into *T) bool {
	b, ok := d.quoted()
	if !ok {
		return false
	}
	s, known := d.seen[string(b)]
	if !known {
		s = string(b)
		if d.seen == nil {
			d.seen = map[string]string{}
		}
		d.seen[s] = s
	}
	*into = T(s)
	return true
}

func number[T ~int64](d *decoder, into *T) bool {
	n, ok := d.number()
	*into = T(n)
	return ok
}

// number reads a whole number of up to 18 digits.
func (d *decoder) number() (n int64, ok bool) {
	minus := d.skip('-')
	from := d.at
	for d.at < len(d.line) && d.line[d.at] >= '0' && d.line[d.at] <= '9' {
		n = 10*n + int64(d.line[d.at]-'0')
		d.at++
	}
	digits := d.at - from
	if digits == 0 || digits > 18 || digits > 1 && d.line[from] == '0' {
		return 0, false
	}
	if minus {
		n = -n
	}
	return n, true
}

// yes reads a true. What is false is left out.
func (d *decoder) yes(into *bool) bool {
	const word = "true"
	if d.at+len(word) > len(d.line) || string(d.line[d.at:d.at+len(word)]) != word {
		return false
	}
	d.at += len(word)
	*into = true
	return true
}
