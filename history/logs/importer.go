package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxLine is the maximum length of a line, in bytes.
const MaxLine = 16 << 20

// maxFiles is the maximum number of files that an importer reads.
const maxFiles = math.MaxUint16

// Importer reads the files of a log. It must be used by one goroutine at a time.
type Importer struct {
	opt       Options
	m         *mapping
	files     []string
	lines     int // number of lines in all files
	events    events
	texts     texts
	keys      names[string]
	whos      names[identity]
	who       []who
	source    names[string] // the sources of times, each with one precision: a host, a client or a file
	finest    [][timeFields]uint8
	flaws     flaws
	other     otherEvents
	failed    int    // number of failed acquires
	oneHost   string // the host whose clock all times are taken from, if no clock error was given
	found     [numFields]int
	there     [numFields]bool // some line has the field, with any value
	fields    fieldSample
	numbers   [timeFields][4]int // how many times are numbers, by field and unit
	bytes     int64              // size of the texts in memory
	maxEvents int
	before    int64 // the time of the previous event in the file
	time      timeProblem
	noSpans   int    // OTLP lines without spans
	unmatched int    // lines that the pattern of the format Lines does not match
	differs   string // the first of them
	err       error
	rec       record
}

// identity is the client that a line is about, as the log names it, or else the file.
type identity struct {
	client, host string
	file         int // counted from 1; 0 if there is a client or a host
}

// who is an identity and the source of its times.
type who struct {
	identity
	source int32
}

// names numbers values in the order of their first occurrence.
type names[T comparable] struct {
	list []T
	at   map[T]int32
}

func (n *names[T]) of(x T) int32 {
	i, known := n.at[x]
	if !known {
		if n.at == nil {
			n.at = map[T]int32{}
		}
		i = int32(len(n.list))
		n.list = append(n.list, x)
		n.at[x] = i
	}
	return i
}

// otherEvents holds the values of the field event that the mapping does not contain.
type otherEvents struct {
	count  int
	values []string // the first few
}

// timeProblem counts times that need a flag.
type timeProblem struct {
	good, ambiguous int
	first           place
	text            string
	why             error
	field           field
}

// New returns an importer. It returns an error if the options are invalid.
func New(o Options) (*Importer, error) {
	m, err := newMapping(&o)
	if err != nil {
		return nil, err
	}
	return &Importer{opt: o, m: m, maxEvents: maxEvents, texts: texts{seed: maphash.MakeSeed()}}, nil
}

// Read reads a file of the log. It counts lines that it cannot parse. It returns an error of the
// reader, or one that names the option that is missing to understand the file.
func (im *Importer) Read(name string, in io.Reader) error {
	if len(im.files) == maxFiles {
		return fmt.Errorf("logs: more than %d files", maxFiles)
	}
	im.files = append(im.files, name)
	im.before = math.MinInt64
	im.fields.events = 0
	var err error
	if im.opt.Format == CSV {
		err = im.readCSV(in)
	} else {
		err = im.readLines(in)
	}
	if err == nil {
		err = im.err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (im *Importer) readCSV(in io.Reader) error {
	p, err := newCSVLines(in, im.m, im.opt.Delimiter)
	if err != nil {
		return err
	}
	for _, name := range p.header {
		im.fields.add(strings.TrimSpace(name))
	}
	for im.err == nil {
		line, err := p.parse(&im.rec)
		if errors.Is(err, io.EOF) {
			return nil
		}
		im.lines++
		at := place{len(im.files) - 1, line}
		switch {
		case errors.Is(err, errRow):
			im.flaws.add(unreadable, at)
		case err != nil:
			return err
		default:
			im.take(&im.rec, at)
		}
	}
	return nil
}

// readLines reads JSON lines or OTLP.
func (im *Importer) readLines(in io.Reader) error {
	b := bufio.NewReaderSize(in, 1<<16)
	objects, spans := newJSONLines(im.m), newOTLPLines(im.m)
	var texts *textLines
	if im.opt.Format == Lines {
		var err error
		if texts, err = newTextLines(&im.opt, im.m); err != nil {
			return err
		}
	}
	var long []byte
	for n := 1; im.err == nil; n++ {
		at := place{len(im.files) - 1, n}
		line, err := b.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long[:0], line...)
			for errors.Is(err, bufio.ErrBufferFull) {
				line, err = b.ReadSlice('\n')
				if len(long) <= MaxLine {
					long = append(long, line...)
				}
			}
			line = long
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			im.lines++
			switch {
			case len(line) > MaxLine:
				im.flaws.add(tooLong, at)
			case texts != nil:
				if texts.parse(line, &im.rec) != nil {
					if im.unmatched++; im.unmatched == 1 {
						im.differs = fmt.Sprintf("%s: %s", im.name(at), strconv.Quote(string(line[:min(len(line), 200)])))
					}
				} else {
					im.take(&im.rec, at)
				}
			case im.opt.Format == OTLP:
				spans.sample = nil
				if n <= sampledLines {
					spans.sample = &im.fields
				}
				some, problem := spans.parse(line, &im.rec, func(start, end instant, failed bool) { im.takeSpan(&im.rec, start, end, failed, at) })
				switch {
				case problem != nil:
					im.flaws.add(unreadable, at)
				case !some:
					im.noSpans++
				}
			default:
				if objects.parse(line, &im.rec) != nil {
					im.flaws.add(unreadable, at)
				} else if lock := im.take(&im.rec, at); n <= sampledLines || lock && im.fields.events < sampledLines {
					if lock {
						im.fields.events++
					}
					im.fields.line(line)
				}
			}
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

// timeOf parses a time of a record. It returns 0 if the record has none; ok is false if the time
// cannot be parsed.
func (im *Importer) timeOf(r *record, f field, at place) (ns int64, ok bool) {
	switch {
	case r.bad[f]:
		im.flaws.add(badTime, at)
		return 0, false
	case !r.has[f]:
		return 0, true
	}
	t, u, err := im.opt.parseTime(r.text[f])
	p := &im.time
	switch {
	case err == nil:
		p.good++
		im.found[f]++
		if u >= 0 {
			im.numbers[f][u]++
		}
		r.digits[f] = t.digits()
		return int64(t), true
	case errors.Is(err, errNoTime):
		im.flaws.add(badTime, at)
	default:
		im.flaws.add(badTime, at)
		if p.ambiguous++; p.ambiguous == 1 {
			p.first, p.text, p.why, p.field = at, short(string(r.text[f])), err, f
		}
		const enough = 1000 // give up after so many unparsable times
		if p.good == 0 && p.ambiguous == enough {
			im.err = im.ambiguous()
		}
	}
	return 0, false
}

// ambiguous returns an error that names the flag that helps, if no time could be parsed.
func (im *Importer) ambiguous() error {
	p := &im.time
	if p.good > 0 || p.ambiguous == 0 {
		return nil
	}
	what := fmt.Sprintf("%s %q in line %d of %s", p.field, p.text, p.first.line, im.files[p.first.file])
	if errors.Is(p.why, errZone) {
		return fmt.Errorf("the %s names no time zone: add --zone with the zone of the log, as in --zone UTC or --zone Europe/Berlin", what)
	}
	return fmt.Errorf("the %s is not a time since 1970 in s, ms, µs or ns by its magnitude: add --time-unit s, ms, us or ns", what)
}

// validity sets when an event's lease ends.
func (im *Importer) validity(e *event, r *record, until, requested int64, at place) {
	if until != 0 {
		e.until, e.flags = until, e.flags|untilGiven
		return
	}
	if e.kind != acquired && e.kind != extended {
		return
	}
	ttl := im.opt.TTL
	if r.bad[fieldTTL] {
		im.flaws.add(badTTL, at)
	}
	if text := im.text(r, fieldTTL); len(text) > 0 {
		said, err := im.opt.parseTTL(text)
		switch {
		case errors.Is(err, errUnit):
			im.err = fmt.Errorf("the TTL %q in line %d has no unit: add --ttl-unit s or ms", short(string(text)), at.line)
		case err != nil:
			im.flaws.add(badTTL, at)
		default:
			ttl = said
		}
	}
	switch {
	case ttl == 0:
	case requested != 0:
		e.until, e.flags = requested+int64(ttl), e.flags|untilRequest
	default:
		e.until, e.flags = e.at+int64(ttl), e.flags|untilReturn
	}
}

// precision updates the precision of the event's source by the times of a record.
func (im *Importer) precision(e *event, r *record) {
	finest := &im.finest[im.who[e.who].source]
	for f := range timeFields {
		finest[f] = max(finest[f], r.digits[f])
	}
}

// seen updates the precision of the event's source in a field by a time.
func (im *Importer) seen(e *event, f field, t instant) {
	finest := &im.finest[im.who[e.who].source][f]
	*finest = max(*finest, t.digits())
}

// clockError returns how far a host's clock may be from the true time; -1: unknown.
func (im *Importer) clockError(host string) time.Duration {
	if err, known := im.opt.HostErrors[host]; known {
		return err
	}
	if im.opt.ClockError != nil {
		return *im.opt.ClockError
	}
	return -1
}
