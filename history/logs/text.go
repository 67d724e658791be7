package logs

import (
	"errors"
	"fmt"
	"slices"
)

// textLines takes the fields of a line from the named groups of Options.Pattern.
type textLines struct {
	opt   *Options
	group [numFields]int // by field: the index of its group; 0: none
}

// newTextLines finds the groups of the mapped fields.
func newTextLines(o *Options, m *mapping) (*textLines, error) {
	if o.Pattern == nil {
		return nil, errors.New(`--format text: add --pattern with a group for each field, as in --pattern '^(?P<time>\S+ \S+) (?P<client>\S+) (?P<event>got|freed) (?P<key>\S+)'`)
	}
	p := &textLines{opt: o}
	names := o.Pattern.SubexpNames()
	used := map[string]bool{"": true}
	for f, name := range m.names {
		used[name] = true
		if i := slices.Index(names, name); name != "" && i > 0 {
			p.group[f] = i
		} else if m.asked[f] && name != "" {
			return nil, fmt.Errorf("--map %s=%s: the pattern has no group (?P<%s>…)", field(f), name, name)
		}
	}
	for _, name := range names {
		if !used[name] {
			return nil, fmt.Errorf("--pattern: the group %q is not a field: add --map FIELD=%s; the fields are %s", name, name, fieldNames())
		}
	}
	return p, nil
}

// errNoMatch is the error for a line that the pattern does not match.
var errNoMatch = errors.New("the pattern does not match")

// parse takes the fields of a line.
func (p *textLines) parse(line []byte, r *record) error {
	r.reset()
	at := p.opt.Pattern.FindSubmatchIndex(line)
	if at == nil {
		return errNoMatch
	}
	for f, i := range p.group {
		if i > 0 && at[2*i] >= 0 {
			r.set(field(f), line[at[2*i]:at[2*i+1]])
		}
	}
	return nil
}
