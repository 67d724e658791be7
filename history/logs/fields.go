package logs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockpick/internal/spelling"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of fieldSample and of error messages.
const (
	sampledLines = 500 // lines of each file, and as many lines about locks
	keptFields   = 200
	shownFields  = 30
	shownText    = 60 // runes of a value in a message
	fieldDepth   = 6
)

// fieldSample collects the names of the fields that a log has. If a mapped name is not among them,
// the error lists them.
type fieldSample struct {
	names  []string
	known  map[string]bool
	events int // sampled lines about locks
	dec    *jsontext.Decoder
	path   []byte
}

func (s *fieldSample) add(name string) {
	if name == "" || len(name) > 4*shownText || len(s.names) == keptFields || s.known[name] {
		return
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[name] = true
	s.names = append(s.names, name)
}

// line adds the paths of a line's scalar members.
func (s *fieldSample) line(line []byte) {
	if s.dec == nil {
		s.dec = jsontext.NewDecoder(strings.NewReader(""))
	}
	s.dec.Reset(strings.NewReader(string(line)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	s.path = s.path[:0]
	if s.dec.PeekKind() == '{' {
		_ = s.object(1) // the importer counts lines that cannot be parsed
	}
}

func (s *fieldSample) object(depth int) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadToken()
		if err != nil {
			return err
		}
		above := len(s.path)
		if above > 0 {
			s.path = append(s.path, '.')
		}
		s.path = append(s.path, name.String()...)
		if s.dec.PeekKind() == '{' && depth < fieldDepth {
			err = s.object(depth + 1)
		} else {
			s.add(string(s.path))
			err = s.dec.SkipValue()
		}
		if err != nil {
			return err
		}
		s.path = s.path[:above]
	}
	_, err := s.dec.ReadToken()
	return err
}

// list enumerates the fields.
func (s *fieldSample) list() string {
	shown := s.names[:min(len(s.names), shownFields)]
	text := strings.Join(quoted(shown), ", ")
	if more := len(s.names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// like returns the field whose name is most similar to a given one, or "" if none is similar.
func (s *fieldSample) like(name string) string {
	best := spelling.Nearest(name, s.names)
	if best == "" { // try a field of the same name in another object
		last := name[strings.LastIndexByte(name, '.')+1:]
		for _, n := range s.names {
			if n[strings.LastIndexByte(n, '.')+1:] == last {
				return n
			}
		}
	}
	return best
}

// unfound returns an error if a name of --map occurs nowhere in the log: it is probably a typo, and
// the verdict without the field would be another one.
func (im *Importer) unfound() error {
	if im.opt.Format == CSV || im.opt.Format == Lines {
		return nil // newCSVLines checked the header, and newTextLines the pattern
	}
	var all []string
	for f, name := range im.m.names {
		if !im.m.asked[f] || name == "" || im.there[f] {
			continue
		}
		problem := fmt.Sprintf("--map %s=%s: ", field(f), name)
		if im.opt.Format == OTLP {
			problem += fmt.Sprintf("no span has an attribute %q", name)
		} else {
			problem += fmt.Sprintf("no line has a field %q", name)
		}
		if like := im.fields.like(name); like != "" {
			problem += fmt.Sprintf(" (did you mean %q?)", like)
		}
		all = append(all, problem)
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(strings.Join(all, "; ") + "; " + im.fieldsThere())
}

// fieldsThere describes which fields the log has.
func (im *Importer) fieldsThere() string {
	what := "fields of the log"
	if im.opt.Format == OTLP {
		what = "attributes of the spans"
	}
	if len(im.fields.names) == 0 {
		return "the log has no " + strings.TrimSuffix(what, " of the log")
	}
	return "the " + what + " are " + im.fields.list()
}

// unknownHosts returns an error if --clock-error names a host that the log does not name.
func (im *Importer) unknownHosts() error {
	var hosts fieldSample
	for i := range im.who {
		hosts.add(im.who[i].host)
	}
	for host := range im.opt.HostErrors {
		if slices.ContainsFunc(im.who, func(w who) bool { return w.host == host }) {
			continue
		}
		if len(hosts.names) == 0 {
			return fmt.Errorf("--clock-error %s=…: no line names a host: add --map host=NAME, or --map host=@file if each host wrote a file of its own", host)
		}
		return fmt.Errorf("--clock-error %s=…: no line is by a host of this name; the hosts are %s", host, hosts.list())
	}
	return nil
}

// quoted returns texts in quotes, shortened.
func quoted(texts []string) []string {
	var all []string
	for _, t := range texts {
		all = append(all, fmt.Sprintf("%q", short(t)))
	}
	return all
}

// short truncates a text for a message.
func short(text string) string {
	if len(text) <= shownText {
		return text
	}
	if r := []rune(text[:min(len(text), 4*shownText)]); len(r) > shownText {
		return string(r[:shownText]) + "…"
	}
	return text
}
