package logs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Format is the syntax of a log.
type Format string

// The formats.
const (
	JSONL Format = "jsonl" // one JSON object a line
	OTLP  Format = "otlp"  // OpenTelemetry spans: one ExportTraceServiceRequest as JSON a line
	CSV   Format = "csv"   // comma-separated values with a header
	Lines Format = "text"  // lines of any form, taken apart by a regular expression
)

// Formats lists all formats.
var Formats = []Format{JSONL, OTLP, CSV, Lines}

// Options says how to read a log.
type Options struct {
	Format Format

	// Map gives the names in the log of Fields: a dotted path, or for OTLP an attribute or
	// start, end, name. A field that is not in Map has its own name, and "" means that the log
	// does not have the field. Text after an @ is not a name but the value on every line; @file
	// stands for the name of the file.
	Map map[string]string

	// Events maps values of the field event to kinds of events (EventKinds). If it is empty, the
	// value of each kind is its name, for OTLP with the prefix "lock.".
	Events map[string]string

	// Pattern takes a line of the format Lines apart: its named groups are fields. Other lines are left out.
	Pattern *regexp.Regexp

	TimeUnit  time.Duration  // unit of times that are numbers; 0: determined by their magnitude
	TTLUnit   time.Duration  // unit of TTLs that are numbers; 0: unknown
	Zone      *time.Location // zone of times without one; nil: unknown
	Delimiter rune           // between CSV columns; 0: a comma

	TTL      time.Duration  // TTL of leases whose line does not contain one; 0: unknown
	NoTTL    bool           // leases do not end by themselves
	CallTime *time.Duration // the longest duration of an acquire or a release; nil: unknown

	ClockError *time.Duration           // how far a host's clock may be from the true time, in either direction; nil: unknown
	HostErrors map[string]time.Duration // the same by host; takes precedence over ClockError
}

// field is a fact that a line of a log may contain.
type field int

const (
	fieldTime field = iota
	fieldRequested
	fieldAcquired
	fieldReleasing
	fieldReleased
	fieldValidUntil
	timeFields // number of the fields above, which are times

	fieldEvent = iota - 1
	fieldKey
	fieldToken
	fieldClient
	fieldHost
	fieldTTL
	numFields
)

// Field is the name of a fact that a line of a log may contain, and its description.
type Field struct{ Name, Says string }

// Fields lists the facts that a line of a log may contain.
var Fields = []Field{
	fieldTime:       {"time", "when the event happened"},
	fieldRequested:  {"requested", "when the acquire was called"},
	fieldAcquired:   {"acquired", "when the acquire returned; makes the line a whole hold"},
	fieldReleasing:  {"releasing", "when the release was called"},
	fieldReleased:   {"released", "when the release returned"},
	fieldValidUntil: {"valid_until", "when the lease ends unless it is released"},
	fieldEvent:      {"event", "what happened (see --event)"},
	fieldKey:        {"key", "the lock's name"},
	fieldToken:      {"token", "the unique value of the acquisition"},
	fieldClient:     {"client", "who acquired: a process or a thread"},
	fieldHost:       {"host", "whose clock the times are from"},
	fieldTTL:        {"ttl", "how long the lease lasts, counted from the request"},
}

func (f field) String() string { return Fields[f].Name }

// eventKind is the meaning of an event.
type eventKind uint8

const (
	noEvent eventKind = iota
	acquired
	extended
	releasing
	released
	refused
	acquireSpan
	extendSpan
	releaseSpan
	holdSpan
)

// pointEvents holds the kinds of events that happen at one time; spanEvents holds the kinds with a
// duration. Both are by name.
var (
	pointEvents = map[string]eventKind{"acquired": acquired, "extended": extended, "releasing": releasing, "released": released, "refused": refused}
	spanEvents  = map[string]eventKind{"acquire": acquireSpan, "extend": extendSpan, "release": releaseSpan, "hold": holdSpan}
)

// EventKinds returns the names of the kinds of events of a format.
func EventKinds(f Format) []string {
	if f == OTLP {
		return slices.Sorted(maps.Keys(spanEvents))
	}
	return slices.Sorted(maps.Keys(pointEvents))
}

// mapping is Options.Map and Options.Events in the form that the importer uses.
type mapping struct {
	names  [numFields]string // name in the log; "": the log does not have the field
	texts  [numFields]string // a value that every line has
	file   [numFields]bool   // the value is the file's name
	asked  [numFields]bool   // Options.Map names it
	events map[string]eventKind
}

func newMapping(o *Options) (*mapping, error) {
	if !slices.Contains(Formats, o.Format) {
		return nil, fmt.Errorf("unknown format %q: jsonl, otlp, csv or text", o.Format)
	}
	m := &mapping{events: map[string]eventKind{}}
	for f := range field(numFields) {
		m.names[f] = f.String()
	}
	if o.Format == OTLP {
		for f := range timeFields {
			m.names[f] = "" // a span has these as its start and end
		}
		m.names[fieldEvent], m.names[fieldValidUntil] = "name", fieldValidUntil.String()
	}
	for _, name := range slices.Sorted(maps.Keys(o.Map)) {
		f := slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })
		if f < 0 {
			return nil, fmt.Errorf("--map %s=%s: there is no field %q: %s", name, o.Map[name], name, fieldNames())
		}
		in := o.Map[name]
		m.asked[f] = in != ""
		m.names[f] = in
		if text, constant := strings.CutPrefix(in, "@"); constant {
			if field(f) < timeFields {
				return nil, fmt.Errorf("--map %s=%s: a time cannot be the same on every line", name, in)
			}
			m.names[f], m.texts[f], m.file[f] = "", text, text == "file"
		}
	}
	kinds, prefix := pointEvents, ""
	if o.Format == OTLP {
		kinds, prefix = spanEvents, "lock."
	}
	for value, name := range o.Events {
		kind, known := kinds[name]
		if !known {
			return nil, fmt.Errorf("--event %s=%s: there is no such kind of event in %s: %s", name, value, o.Format, strings.Join(EventKinds(o.Format), ", "))
		}
		m.events[value] = kind
	}
	if len(o.Events) == 0 {
		for name, kind := range kinds {
			m.events[prefix+name] = kind
		}
	}
	return m, nil
}

func fieldNames() string {
	var names []string
	for _, f := range Fields {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}
