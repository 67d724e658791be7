package logs

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// wanted is a mapped field, with the rest of its path below the object that is being parsed.
type wanted struct {
	field field
	path  string
}

// jsonLines parses the mapped fields of JSON objects and skips all other fields.
type jsonLines struct {
	wanted []wanted
	in     bytes.Reader
	dec    *jsontext.Decoder
	below  []wanted // scratch: the wanted fields below the current member
	direct []field  // scratch: the fields that the current member provides
	name   []byte   // scratch
}

func newJSONLines(m *mapping) *jsonLines {
	p := &jsonLines{}
	for f, name := range m.names {
		if name != "" {
			p.wanted = append(p.wanted, wanted{field(f), name})
		}
	}
	p.dec = jsontext.NewDecoder(&p.in)
	return p
}

var errNoObject = errors.New("no JSON object")

// parse parses one line. Text after the object is an error.
func (p *jsonLines) parse(line []byte, r *record) error {
	r.reset()
	p.in.Reset(line)
	p.dec.Reset(&p.in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	p.below = p.below[:0]
	if p.dec.PeekKind() != '{' {
		return errNoObject
	}
	if err := p.object(p.wanted, r); err != nil {
		return err
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errNoObject
	}
	return nil
}

// object parses an object of which some members are wanted. A path such as lock.token matches a
// member with that name as well as nested members (lock, and token in it).
func (p *jsonLines) object(in []wanted, r *record) error {
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	for p.dec.PeekKind() != '}' {
		quoted, err := p.dec.ReadValue()
		if err != nil {
			return err
		}
		name := p.unquote(quoted)
		p.direct = p.direct[:0]
		start := len(p.below)
		for _, w := range in {
			if w.path == string(name) {
				p.direct = append(p.direct, w.field)
			} else if len(w.path) > len(name) && w.path[len(name)] == '.' && strings.HasPrefix(w.path, string(name)) {
				p.below = append(p.below, wanted{w.field, w.path[len(name)+1:]})
			}
		}
		switch kind := p.dec.PeekKind(); {
		case len(p.direct) > 0:
			value, err := p.dec.ReadValue()
			if err != nil {
				return err
			}
			if kind == '"' {
				value = p.unquote(value)
			}
			for _, f := range p.direct {
				switch kind {
				case '"', '0':
					r.set(f, value)
				case 'n':
					r.seen[f] = true
				default:
					r.markUnusable(f)
				}
			}
		case len(p.below) > start && kind == '{':
			if err := p.object(p.below[start:len(p.below):len(p.below)], r); err != nil {
				return err
			}
		default:
			if err := p.dec.SkipValue(); err != nil {
				return err
			}
		}
		p.below = p.below[:start]
	}
	_, err := p.dec.ReadToken()
	return err
}

// unquote returns the text of a JSON string. The text is valid until the next call or read.
func (p *jsonLines) unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	p.name, _ = jsontext.AppendUnquote(p.name[:0], quoted)
	return p.name
}
