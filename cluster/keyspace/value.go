package keyspace

import (
	"maps"
	"math"
	"slices"
)

// Value is the value of a key. It is never changed in place.
type Value struct {
	Text    string
	Parts   *Parts // nil: it is a string
	Expires int64  // ms since the epoch of the server's clock; Never: it does not expire
}

// Never is the deadline of a key that does not expire.
const Never = math.MaxInt64

// The types of values, as TYPE names them.
const (
	String    = "string"
	Hash      = "hash"
	List      = "list"
	Set       = "set"
	SortedSet = "zset"
	Stream    = "stream"
)

// Parts holds the elements of a value that is not a string. Only a command that has not stored
// them yet may change them.
type Parts struct {
	Type     string
	Fields   map[string]string  // of a hash
	Elements []string           // of a list
	Scores   map[string]float64 // of the members of a set or a sorted set; 0 in a set
	Entries  []entry            // of a stream
	Latest   entryID            // the highest ID that the stream ever had
}

// Type returns the type of the value, as TYPE does.
func (v *Value) Type() string {
	if v.Parts == nil {
		return String
	}
	return v.Parts.Type
}

// Same reports whether two values differ at most in their deadlines.
func (v *Value) Same(o *Value) bool {
	if v.Parts == nil || o.Parts == nil {
		return v.Parts == o.Parts && v.Text == o.Text
	}
	a, b := v.Parts, o.Parts
	return a == b || a.Type == b.Type && maps.Equal(a.Fields, b.Fields) && slices.Equal(a.Elements, b.Elements) && maps.Equal(a.Scores, b.Scores) &&
		a.Latest == b.Latest && slices.EqualFunc(a.Entries, b.Entries, entry.same)
}

// Size returns approximately how many bytes the value and its key have on a disk.
func (v *Value) Size(key string) int64 {
	n := int64(len(key)+len(v.Text)) + 40
	if v.Parts == nil {
		return n
	}
	for field, x := range v.Parts.Fields {
		n += int64(len(field) + len(x) + 10)
	}
	for _, x := range v.Parts.Elements {
		n += int64(len(x) + 10)
	}
	for member := range v.Parts.Scores {
		n += int64(len(member) + 18)
	}
	for _, e := range v.Parts.Entries {
		n += 18
		for _, x := range e.text {
			n += int64(len(x) + 2)
		}
	}
	return n
}

// count returns the number of elements. p may be nil.
func (p *Parts) count() int {
	if p == nil {
		return 0
	}
	return len(p.Fields) + len(p.Elements) + len(p.Scores)
}

// copyOf returns parts of a type that a command may change. p may be nil.
func copyOf(p *Parts, kind string) *Parts {
	c := &Parts{Type: kind}
	if p != nil {
		c.Fields, c.Elements, c.Scores = maps.Clone(p.Fields), slices.Clone(p.Elements), maps.Clone(p.Scores)
		c.Entries, c.Latest = slices.Clone(p.Entries), p.Latest
	}
	switch {
	case kind == Hash && c.Fields == nil:
		c.Fields = map[string]string{}
	case (kind == Set || kind == SortedSet) && c.Scores == nil:
		c.Scores = map[string]float64{}
	}
	return c
}

// field, members and elements accept nil parts, those of a key that does not exist.

func (p *Parts) field(name string) (string, bool) {
	if p == nil {
		return "", false
	}
	x, ok := p.Fields[name]
	return x, ok
}

func (p *Parts) score(member string) (float64, bool) {
	if p == nil {
		return 0, false
	}
	x, ok := p.Scores[member]
	return x, ok
}

func (p *Parts) elements() []string {
	if p == nil {
		return nil
	}
	return p.Elements
}

// names returns the fields of a hash or the members of a set in sorted order.
func (p *Parts) names() []string {
	switch {
	case p == nil:
		return nil
	case p.Type == Hash:
		return slices.Sorted(maps.Keys(p.Fields))
	}
	return slices.Sorted(maps.Keys(p.Scores))
}
