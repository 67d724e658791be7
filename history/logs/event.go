package logs

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math"
	"time"
)

// event is one event of a lock, or, after the events of a token are combined, a hold. It has no
// pointers, so that the garbage collector need not scan ten million of them.
type event struct {
	at      int64  // ns since 1970: when it happened; for a hold, when the acquire returned
	end     int64  // for a hold: its release, if hasEnd
	until   int64  // when the lease ends, if one of the until flags is set
	token   uint64 // for an event: the hash of its token, 0 if it has none; unused in a hold
	text    uint64 // position of the token's text, for events that acquire
	key     int32
	who     int32
	line    int32
	endLine int32  // for a hold: the line that ends it, 0 if none
	more    int32  // for a hold: its first extension, counted from 1 in Log.extensions; 0: none
	request uint32 // time from the acquire's call to its return in µs, rounded up; math.MaxUint32: unknown
	file    uint16
	endFile uint16
	kind    eventKind
	flags   flags
}

// flags holds the facts that are known about an event or a hold.
type flags uint8

const (
	hasEnd       flags = 1 << iota // its release is known
	endIsReturn                    // the end is when the release returned, not when it was called
	endByEvent                     // the end is the time of a separate line
	wholeHold                      // one line or span described the whole hold
	untilGiven                     // until is the log's valid_until, by the client's clock
	untilRequest                   // until is the TTL after the request
	untilReturn                    // until is the TTL after the acquire returned: too late by up to the duration of the acquire
	again                          // its client seems to have acquired the lock again while it held it
)

const untilKnown = untilGiven | untilRequest | untilReturn

// extension is a grant that extends a hold.
type extension struct {
	at, until int64
	line      int32
	file      uint16
	flags     flags
	last      bool // it is the last extension of its hold
}

func (e *event) place() place    { return place{int(e.file), int(e.line)} }
func (e *event) endPlace() place { return place{int(e.endFile), int(e.endLine)} }

// requested returns when the acquire of an event was called, if that is known.
func (e *event) requested() int64 {
	if e.request == math.MaxUint32 {
		return e.at
	}
	return e.at - int64(e.request)*int64(time.Microsecond)
}

// since returns the time from before to at in µs, rounded up; math.MaxUint32 if it is negative or
// too long.
func since(at, before int64) uint32 {
	micros := (at - before + 999) / 1000
	if micros < 0 || micros >= math.MaxUint32 {
		return math.MaxUint32
	}
	return uint32(micros)
}

// chunk is the number of events that are allocated at once: growing a single slice would need twice the
// memory while it is copied.
const chunk = 1 << 14

// events is a large list of events.
type events struct {
	chunks [][]event // of the length chunk; the first one grows up to it, because most logs are small
	n      int
}

// add adds an event. The pointer is valid until the next call.
func (es *events) add() *event {
	const first = 64
	switch last := len(es.chunks) - 1; {
	case last < 0:
		es.chunks = append(es.chunks, make([]event, first))
	case es.n == chunk*(last+1):
		es.chunks = append(es.chunks, make([]event, chunk))
	case last == 0 && es.n == len(es.chunks[0]):
		more := make([]event, 4*es.n)
		copy(more, es.chunks[0])
		es.chunks[0] = more
	}
	es.n++
	e := es.at(es.n - 1)
	*e = event{}
	return e
}

func (es *events) at(i int) *event { return &es.chunks[i/chunk][i%chunk] }

// truncate removes all events from the n-th on.
func (es *events) truncate(n int) {
	es.n = n
	clear(es.chunks[(n+chunk-1)/chunk:])
	es.chunks = es.chunks[:(n+chunk-1)/chunk]
}

// sorted implements sort.Interface for events, with the order of less.
type sorted struct {
	*events
	less func(a, b *event) bool
}

func (s sorted) Len() int           { return s.n }
func (s sorted) Swap(i, j int)      { a, b := s.at(i), s.at(j); *a, *b = *b, *a }
func (s sorted) Less(i, j int) bool { return s.less(s.at(i), s.at(j)) }

// byToken orders events by lock, token and time, so that all events of a hold are adjacent.
func byToken(a, b *event) bool {
	if a.key == b.key && a.token != b.token {
		return a.token < b.token
	}
	return byStart(a, b)
}

// byStart orders events or holds by lock and time.
func byStart(a, b *event) bool {
	if a.key != b.key {
		return a.key < b.key
	}
	if a.at != b.at {
		return a.at < b.at
	}
	return compareEvents(a, b) < 0
}

// compareEvents orders events with the same time, so that equal events are adjacent. The order of
// lines counts only between equal ones.
func compareEvents(a, b *event) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.who, b.who), cmp.Compare(a.until, b.until), cmp.Compare(a.end, b.end),
		cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
}

// texts stores the tokens of acquisitions.
type texts struct {
	chunks [][]byte
	seed   maphash.Seed
}

const textChunk = 1 << 20

// add stores a text and returns its position.
func (t *texts) add(text []byte) uint64 {
	need := binary.MaxVarintLen64 + len(text)
	if n := len(t.chunks); n == 0 || cap(t.chunks[n-1])-len(t.chunks[n-1]) < need {
		t.chunks = append(t.chunks, make([]byte, 0, max(textChunk>>max(8-2*n, 0), need))) // the first ones are small, as most logs are
	}
	n := len(t.chunks) - 1
	c := t.chunks[n]
	at := uint64(n)<<32 | uint64(len(c))
	t.chunks[n] = append(binary.AppendUvarint(c, uint64(len(text))), text...)
	return at
}

func (t *texts) at(where uint64) string {
	c := t.chunks[where>>32][where&math.MaxUint32:]
	n, size := binary.Uvarint(c)
	return string(c[size : size+int(n)])
}

// hash returns a token's hash, never 0. The probability that any two of ten million tokens have
// the same hash is one in 370,000, and a collision has an effect only if both tokens belong to the
// same client and lock.
func (t *texts) hash(text []byte) uint64 { return max(maphash.Bytes(t.seed, text), 1) }
