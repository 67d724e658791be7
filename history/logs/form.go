package logs

import (
	"fmt"
	"math"
	"slices"
	"time"

	"lockpick/internal/plural"
)

// grant is a period in which a client may rely on a lease.
type grant struct {
	at, until int64
	extension *extension // nil: the acquire
}

// form is a hold as it is judged: the grants of its acquire and its extensions, and its release.
type form struct {
	grants []grant
	end    int64 // the time of the release; math.MaxInt64: none
	to     int64 // when the hold ends
}

func (f *form) from() int64 { return f.grants[0].at }

// left returns the latest time at which the client certainly was in its critical section: when it released the
// lock, however long its lease lasted.
func (f *form) left() int64 {
	if f.end == math.MaxInt64 {
		return f.to
	}
	return max(f.end, f.from())
}

// doubt is the reason why no part of a hold is certain.
type doubt int

const (
	sure doubt = iota
	unknownClock
	unknownCall
	unknownTTL
	unknownRelease
	acquiredAgain
	tooShort
	arrivedOver
	numDoubts
)

// doubtTexts describes which holds prove nothing, and what the user can do.
var doubtTexts = [numDoubts]struct{ which, help string }{
	unknownClock:   {"by a clock whose error is not known", "add --clock-error with how far the hosts' clocks may be off, as in --clock-error 50ms, or 0 if one machine wrote all times"},
	unknownCall:    {"with a call of which only the return is logged", "log when the acquire was called (requested) and when the release was called (releasing), or add --call-time with the longest that such a call takes"},
	unknownTTL:     {"of a lease whose end is not known", "log valid_until, or add --ttl with the TTL, or --ttl none if leases do not end by themselves"},
	unknownRelease: {"without a release", "log every release: where the line is missing, the lock may have been released at any time"},
	acquiredAgain:  {"with another acquisition by the same client in it", "give each acquisition a token of its own, and of a re-entrant lock log the outermost acquisition alone"},
	tooShort:       {"too short for the clock error and the digits of the log", "use better clocks or log more digits"},
	arrivedOver:    {"over before the acquire returned", "the TTL is too short for how long an acquire takes"},
}

// Doubt is a reason why some holds of a log prove nothing.
type Doubt struct {
	Count int
	Which string // describes the holds: "by a clock whose error is not known"
	Help  string // what to log, or which flag to add
}

func (d Doubt) String() string {
	prove := "prove"
	if d.Count == 1 {
		prove = "proves"
	}
	return fmt.Sprintf("%s %s %s nothing: %s", plural.Count(d.Count, "hold", "holds"), d.Which, prove, d.Help)
}

// Doubts returns the reasons why holds of the log prove nothing.
func (l *Log) Doubts() []Doubt {
	var all []Doubt
	for d, n := range l.unsure {
		if n > 0 {
			all = append(all, Doubt{n, doubtTexts[d].which, doubtTexts[d].help})
		}
	}
	return all
}

// assumeOneClock assumes a clock error of 0 if one host wrote the whole log, since one host has one
// clock.
func (l *Log) assumeOneClock() {
	im := l.im
	if im.opt.ClockError != nil || len(im.opt.HostErrors) > 0 {
		return
	}
	host := im.who[0].host
	for i := range im.who {
		if h := im.who[i].host; h == "" || h != host {
			return
		}
	}
	im.opt.ClockError = new(time.Duration)
	im.oneHost = host
}

// blur returns a function that returns how far a hold's time in a field may be from the true time,
// in ns and in either direction; ok is false if that is unknown.
func (l *Log) blur(h *event) (of func(f field) int64, ok bool) {
	w := &l.im.who[h.who]
	clock := l.im.clockError(w.host)
	if clock < 0 {
		return nil, false
	}
	finest := &l.im.finest[w.source]
	return func(f field) int64 { return int64(clock) + resolution(finest[f]) }, true
}

// certain returns the part of a hold in which its client relied on the lock for all possible clock
// errors and missing lines.
func (l *Log) certain(h *event) (form, doubt) {
	blur, known := l.blur(h)
	if !known {
		return form{}, unknownClock
	}
	first := l.pointField(h.flags)
	until, why := l.sureUntil(h.until, h.flags, blur)
	if why != sure {
		return form{}, why
	}
	if h.flags&again != 0 {
		return form{}, acquiredAgain
	}
	f := form{grants: make([]grant, 1, 2), end: math.MaxInt64}
	f.grants[0] = grant{at: h.at + blur(first), until: until}
	if h.flags&hasEnd != 0 {
		f.end = h.end - blur(l.endField(h.flags))
		if h.flags&endIsReturn != 0 {
			if l.im.opt.CallTime == nil {
				return form{}, unknownCall
			}
			f.end -= int64(*l.im.opt.CallTime)
		}
	}
	_, ends := l.until(h)             // if the lease ends, an extension with an unknown end does not make it endless
	stillHeld := int64(math.MinInt64) // the client certainly held the lock until the last extension
	for x := range l.grants(h) {
		stillHeld = x.at - blur(l.pointField(x.flags))
		until, why := l.sureUntil(x.until, x.flags, blur)
		at := x.at + blur(l.pointField(x.flags))
		last := &f.grants[len(f.grants)-1]
		if why == sure && until > at && !(ends && until == math.MaxInt64) {
			f.grants = append(f.grants, grant{at, until, x})
		} else { // the extension may have shortened the lease
			last.until = min(last.until, max(stillHeld, last.at))
		}
	}
	if h.flags&hasEnd == 0 { // the line of the release may be missing
		if h.more == 0 {
			return form{}, unknownRelease
		}
		f.grants = slices.DeleteFunc(f.grants, func(g grant) bool { return g.at >= stillHeld })
		if len(f.grants) == 0 {
			return form{}, tooShort
		}
		for i := range f.grants {
			f.grants[i].until = min(f.grants[i].until, stillHeld)
		}
	}
	f.close()
	switch {
	case f.to > f.from():
		return f, sure
	case l.exact(h).to <= h.at:
		return form{}, arrivedOver
	}
	return form{}, tooShort
}

// close sets when a hold ends: at its release, or when its grants end.
func (f *form) close() {
	f.to = f.grants[0].until
	for _, g := range f.grants[1:] {
		if g.at > f.to {
			break // the later grant follows after a gap
		}
		f.to = max(g.at, g.until) // the client relied on the grant before until this one arrived
	}
	f.to = min(f.to, f.end)
}

// exact returns the hold if every logged time is exact. A hold without any end lasts until its
// last extension.
func (l *Log) exact(h *event) form {
	f := form{grants: []grant{{at: h.at, until: math.MaxInt64}}, end: math.MaxInt64}
	if h.flags&untilKnown != 0 {
		f.grants[0].until = h.until
	}
	if h.flags&hasEnd != 0 {
		f.end = h.end
	}
	for x := range l.grants(h) {
		if x.flags&untilKnown != 0 {
			f.grants = append(f.grants, grant{x.at, x.until, x})
		}
	}
	f.close()
	if f.to == math.MaxInt64 {
		f.to = h.at
		for x := range l.grants(h) {
			f.to = max(f.to, x.at)
		}
	}
	return f
}

// until returns when a hold's lease ends if every logged time is exact, and whether the log says so.
func (l *Log) until(h *event) (until int64, known bool) {
	known = h.flags&untilKnown != 0
	for x := range l.grants(h) {
		known = known || x.flags&untilKnown != 0
	}
	without := *h
	without.flags &^= hasEnd
	return l.exact(&without).to, known
}

// sureUntil returns the earliest time at which a lease can end, or math.MaxInt64 if it does not end
// by itself. Otherwise the doubt says why that is unknown.
func (l *Log) sureUntil(until int64, fs flags, blur func(field) int64) (int64, doubt) {
	switch {
	case fs&untilGiven != 0:
		return until - blur(fieldValidUntil), sure
	case fs&untilRequest != 0:
		return until - blur(fieldRequested), sure
	case fs&untilReturn != 0 && l.im.opt.CallTime == nil:
		return 0, unknownCall
	case fs&untilReturn != 0:
		return until - int64(*l.im.opt.CallTime) - blur(l.pointField(fs)), sure
	case l.im.opt.NoTTL:
		return math.MaxInt64, sure
	}
	return 0, unknownTTL
}

// pointField returns the field that contains the time of an acquisition or an extension.
func (l *Log) pointField(fs flags) field {
	if l.im.opt.Format == OTLP || fs&wholeHold != 0 {
		return fieldAcquired
	}
	return fieldTime
}

// endField returns the field that contains the time of a release.
func (l *Log) endField(fs flags) field {
	switch {
	case fs&endByEvent != 0 && l.im.opt.Format == OTLP:
		return fieldReleasing
	case fs&endByEvent != 0:
		return fieldTime
	case fs&endIsReturn != 0 || l.im.opt.Format == OTLP:
		return fieldReleased
	}
	return fieldReleasing
}
