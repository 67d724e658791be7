package logs

import (
	"fmt"
	"math"
)

// eventOf returns the kind of event of a record; known is false if the record names an event that
// the mapping does not contain.
func (im *Importer) eventOf(r *record) (kind eventKind, known bool) {
	if r.bad[fieldEvent] {
		return noEvent, false
	}
	text := r.text[fieldEvent]
	if len(text) == 0 {
		text = []byte(im.m.texts[fieldEvent])
	}
	if len(text) == 0 {
		return noEvent, true
	}
	kind, known = im.m.events[string(text)]
	whole := im.opt.Format != OTLP && r.has[fieldAcquired] && !im.m.asked[fieldEvent] && len(im.opt.Events) == 0
	if !known && !whole { // a whole hold needs no event, so its field event may mean something else
		const some = 5
		im.other.count++
		if len(im.other.values) < some && !contains(im.other.values, []byte(short(string(text)))) {
			im.other.values = append(im.other.values, short(string(text)))
		}
	}
	return kind, known
}

func contains(all []string, text []byte) bool {
	for _, s := range all {
		if s == string(text) {
			return true
		}
	}
	return false
}

// take adds a record of JSON lines or CSV: an event, or a whole hold. It reports whether the
// record is about a lock.
func (im *Importer) take(r *record, at place) bool {
	im.saw(r)
	kind, known := im.eventOf(r)
	asked := im.m.asked[fieldEvent] || len(im.opt.Events) > 0
	whole := kind == noEvent && (known || !asked) && (r.has[fieldAcquired] || r.bad[fieldAcquired])
	switch {
	case kind == refused:
		im.failed++
		return true
	case whole:
		kind = acquired
	case kind == noEvent:
		return false
	}
	var times [timeFields]int64
	needs := fieldTime
	if whole {
		needs = fieldAcquired
	}
	for f := range timeFields {
		if f == fieldTime && whole {
			continue
		}
		ok := true
		if times[f], ok = im.timeOf(r, f, at); !ok {
			return true
		}
	}
	if times[needs] == 0 {
		im.flaws.add(noTimeAtAll, at)
		return true
	}
	e, ok := im.event(r, at, kind, times[needs])
	if !ok {
		return true
	}
	if kind == acquired && times[fieldRequested] != 0 {
		if times[fieldRequested] > times[needs] {
			im.drop(backwards, at)
			return true
		}
		e.request = since(times[needs], times[fieldRequested])
	}
	if whole {
		e.flags |= wholeHold
		switch {
		case times[fieldReleasing] != 0:
			e.end, e.flags = times[fieldReleasing], e.flags|hasEnd
		case times[fieldReleased] != 0:
			e.end, e.flags = times[fieldReleased], e.flags|hasEnd|endIsReturn
		}
		if e.flags&hasEnd != 0 {
			e.endFile, e.endLine = e.file, e.line
			if e.end < e.at {
				im.drop(backwards, at)
				return true
			}
		}
	}
	im.validity(e, r, times[fieldValidUntil], times[fieldRequested], at)
	return true
}

// takeSpan adds a span: an acquire, an extension, a release or a hold.
func (im *Importer) takeSpan(r *record, start, end instant, failed bool, at place) {
	im.saw(r)
	kind, known := im.eventOf(r)
	if kind == noEvent || !known {
		return
	}
	if failed && kind != holdSpan && kind != releaseSpan {
		im.failed++
		return
	}
	until, ok := im.timeOf(r, fieldValidUntil, at)
	if !ok {
		return
	}
	if int64(start) == 0 || int64(end) == 0 {
		im.flaws.add(noTimeAtAll, at)
		return
	}
	if int64(end) < int64(start) {
		im.flaws.add(backwards, at)
		return
	}
	point, when, f := acquired, end, fieldAcquired
	switch kind {
	case extendSpan:
		point = extended
	case releaseSpan:
		point, when, f = releasing, start, fieldReleasing
	case holdSpan:
		when = start
	}
	e, ok := im.event(r, at, point, int64(when))
	if !ok {
		return
	}
	im.seen(e, f, when)
	request := int64(0)
	switch kind {
	case holdSpan:
		e.flags |= wholeHold | hasEnd | endIsReturn
		if im.opt.Map[fieldReleasing.String()] == otlpEnd {
			e.flags &^= endIsReturn
		}
		e.end, e.endFile, e.endLine = int64(end), e.file, e.line
		im.seen(e, fieldReleased, end)
	case acquireSpan, extendSpan:
		request = int64(start)
		e.request = since(int64(end), int64(start))
		im.seen(e, fieldRequested, start)
	}
	im.validity(e, r, until, request, at)
}

// event adds an event with a record's client, token and lock. It returns false if it adds none.
func (im *Importer) event(r *record, at place, kind eventKind, when int64) (*event, bool) {
	for f := fieldKey; f <= fieldHost; f++ {
		if r.bad[f] {
			im.flaws.add(badValue, at)
			return nil, false
		}
	}
	for f := fieldKey; f <= fieldHost; f++ {
		if len(r.text[f]) > MaxValue {
			im.flaws.add(longValue, at)
			return nil, false
		}
	}
	key, token := im.text(r, fieldKey), im.text(r, fieldToken)
	id := identity{client: string(im.text(r, fieldClient)), host: string(im.text(r, fieldHost))}
	if id.client == "" && id.host == "" {
		id.file = at.file + 1
	}
	switch {
	case len(key) == 0:
		im.flaws.add(noKey, at)
		return nil, false
	case len(token) == 0 && id.client == "":
		im.flaws.add(noOwner, at)
		return nil, false
	}
	if !im.room() {
		return nil, false
	}
	if when < im.before {
		im.flaws.add(unsorted, at)
	}
	im.before = when
	e := im.events.add()
	e.at, e.kind, e.request = when, kind, math.MaxUint32
	e.file, e.line = uint16(at.file), int32(min(at.line, math.MaxInt32))
	if n, known := im.keys.at[string(key)]; known {
		e.key = n
	} else {
		e.key = im.keys.of(string(key))
		im.bytes += nameBytes + int64(len(key))
	}
	e.who = im.whoIs(id)
	if len(token) > 0 {
		e.token = im.texts.hash(token)
		if kind == acquired {
			e.text = im.texts.add(token) + 1
			im.bytes += int64(len(token))
		}
	}
	im.precision(e, r)
	return e, true
}

// saw notes which fields occur in a record.
func (im *Importer) saw(r *record) {
	for f, there := range r.seen {
		if there {
			im.there[f] = true
		}
	}
}

// Limits of what an importer keeps. They limit its memory to about 8 GB.
const (
	MaxValue  = 4 << 10 // maximum length of a key, a token, a client or a host, in bytes
	maxEvents = 50_000_000
	maxBytes  = 3 << 30 // maximum size of all keys, tokens, clients and hosts, in bytes
	nameBytes = 200     // memory of a key or a client besides its text, in bytes
)

// room reports whether one more event may be kept. If not, it sets the error that ends reading.
func (im *Importer) room() bool {
	if im.events.n < im.maxEvents && im.bytes < maxBytes {
		return true
	}
	im.err = fmt.Errorf("more than %d million events of locks, or %d GiB of keys, tokens and clients: check fewer files, or a shorter time, at once", im.maxEvents/1_000_000, maxBytes>>30)
	return false
}

// drop removes the event that was added last and counts the problem.
func (im *Importer) drop(p problem, at place) {
	im.events.n--
	im.flaws.add(p, at)
}

// text returns the value of a field: from the record, or the constant that Options.Map gives.
func (im *Importer) text(r *record, f field) []byte {
	switch {
	case im.m.file[f]:
		im.found[f]++
		return []byte(im.files[len(im.files)-1])
	case im.m.texts[f] != "":
		im.found[f]++
		return []byte(im.m.texts[f])
	case r.has[f]:
		im.found[f]++
	}
	return r.text[f]
}

// whoIs returns the number of an identity; a new identity gets the next number.
func (im *Importer) whoIs(id identity) int32 {
	n := im.whos.of(id)
	if int(n) == len(im.who) {
		var source string
		switch {
		case id.host != "":
			source = "host " + id.host
		case id.client != "":
			source = "client " + id.client
		default:
			source = fmt.Sprint("file ", id.file)
		}
		s := im.source.of(source)
		if int(s) == len(im.finest) {
			im.finest = append(im.finest, [timeFields]uint8{})
		}
		im.who = append(im.who, who{id, s})
		im.bytes += nameBytes + int64(len(id.client)+len(id.host))
	}
	return n
}
