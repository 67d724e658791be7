package logs

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// instant is a time in a log: nanoseconds since 1970.
type instant int64

// digits returns how many decimals of a second a time needs. The maximum over the times of one
// source shows its precision, even if the source appends zeros.
func (t instant) digits() uint8 {
	n := uint8(9)
	for ; n > 0 && t%10 == 0; n-- {
		t /= 10
	}
	return n
}

// The reasons why a text is not a time. For the first two, a flag helps.
var (
	errUnit   = errors.New("a number that is not a time in s, ms, µs or ns since 1970")
	errZone   = errors.New("a time without a time zone")
	errNoTime = errors.New("no time")
)

// units lists the units of times since 1970, with the number of digits that times of the years 1973
// to 2286 have in them. These numbers are disjoint, so a number has one meaning.
var units = []struct {
	unit  time.Duration
	name  string
	zeros int // number of decimals of the unit down to a nanosecond
	whole int // such a number has so many digits before its point, or one less
}{{time.Second, "s", 9, 10}, {time.Millisecond, "ms", 6, 13}, {time.Microsecond, "µs", 3, 16}, {time.Nanosecond, "ns", 0, 19}}

// parseTime parses a time: ISO 8601, or a number counted since 1970 (or, with a TimeUnit, since any
// other moment).
//
// It also returns the index in units of a number's unit, and -1 for ISO 8601.
func (o *Options) parseTime(b []byte) (instant, int, error) {
	b = bytes.TrimSpace(b)
	if len(b) >= 19 && b[4] == '-' && b[7] == '-' {
		at, err := o.parseISO(b)
		return at, -1, err
	}
	return o.parseEpoch(b)
}

// parseISO parses 2006-01-02T15:04:05.999999999Z, also with a space for the T, a comma for the
// point, and a zone as Z, UTC, +07, +0700, +07:00 or none. Package time needs a layout for each of
// these, and trying them in turn is too slow for ten million lines.
func (o *Options) parseISO(b []byte) (instant, error) {
	number := func(from, to int) int {
		n := 0
		for _, c := range b[from:to] {
			if c < '0' || c > '9' {
				return -1
			}
			n = 10*n + int(c-'0')
		}
		return n
	}
	year, month, day := number(0, 4), number(5, 7), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	if b[10] != 'T' && b[10] != 't' && b[10] != ' ' || b[13] != ':' || b[16] != ':' ||
		year < 1970 || year > 2115 || month < 1 || month > 12 || day < 1 || day > 31 || min(hour, minute, second) < 0 || hour > 23 || minute > 59 || second > 59 {
		return 0, errNoTime
	}
	rest, fraction, digits := b[19:], 0, 0
	if len(rest) > 0 && (rest[0] == '.' || rest[0] == ',') {
		rest = rest[1:]
		n := 0
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			if digits < 9 {
				fraction, digits = 10*fraction+int(rest[n]-'0'), digits+1
			}
			n++
		}
		if n == 0 {
			return 0, errNoTime
		}
		rest = rest[n:]
	}
	for range 9 - digits {
		fraction *= 10
	}
	zone, offset, err := o.zone(bytes.TrimSpace(rest))
	if err != nil {
		return 0, err
	}
	at := time.Date(year, time.Month(month), day, hour, minute, second, fraction, zone)
	if at.Day() != day { // 30 February
		return 0, errNoTime
	}
	if zone != time.UTC && !unique(at, hour, minute) {
		return 0, errNoTime
	}
	return instant(at.UnixNano() - int64(offset)), nil
}

// unique reports whether a wall-clock time exists exactly once: it does not lie in an hour that the
// zone skips or repeats.
func unique(at time.Time, hour, minute int) bool {
	shows := func(t time.Time) bool { return t.Hour() == hour && t.Minute() == minute }
	for _, shift := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour} {
		if shows(at.Add(shift)) || shows(at.Add(-shift)) {
			return false
		}
	}
	return shows(at)
}

// zone parses the text after a time. It returns a location and how far the time is ahead of it.
func (o *Options) zone(b []byte) (in *time.Location, ahead time.Duration, err error) {
	switch s := string(b); {
	case s == "Z" || s == "z" || s == "UTC" || s == "GMT":
		return time.UTC, 0, nil
	case s == "" && o.Zone == nil:
		return nil, 0, errZone
	case s == "":
		return o.Zone, 0, nil
	case s[0] != '+' && s[0] != '-':
		return nil, 0, errNoTime
	default:
		digits := strings.Replace(s[1:], ":", "", 1)
		if len(digits) == 2 {
			digits += "00"
		}
		n, err := strconv.ParseUint(digits, 10, 32)
		if len(digits) != 4 || err != nil || n/100 > 15 || n%100 > 59 {
			return nil, 0, errNoTime
		}
		ahead = time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
		if s[0] == '-' {
			ahead = -ahead
		}
		return time.UTC, ahead, nil
	}
}

// parseEpoch parses a number. It parses integers digit by digit, because a float64 is exact only to
// a quarter of a microsecond for today's times.
func (o *Options) parseEpoch(b []byte) (instant, int, error) {
	whole, fraction, point := b, []byte(nil), bytes.IndexByte(b, '.')
	if point >= 0 {
		whole, fraction = b[:point], b[point+1:]
	}
	if len(b) == 0 || point == 0 {
		return 0, -1, errNoTime
	}
	for _, part := range [][]byte{whole, fraction} {
		for _, c := range part {
			if c < '0' || c > '9' {
				return o.parseFloat(b)
			}
		}
	}
	unit, zeros, number := o.TimeUnit, 0, -1
	for i, u := range units {
		if unit == u.unit || unit == 0 && (len(whole) == u.whole || len(whole) == u.whole-1) {
			unit, zeros, number = u.unit, u.zeros, i
			break
		}
	}
	if unit == 0 {
		return 0, -1, errUnit
	}
	if len(whole) > 19-zeros {
		return 0, -1, errNoTime
	}
	ns, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil {
		return 0, -1, errNoTime
	}
	for i := range zeros {
		ns *= 10
		if i < len(fraction) {
			ns += int64(fraction[i] - '0')
		}
	}
	if ns < 0 || ns > math.MaxInt64/2 {
		return 0, -1, errNoTime
	}
	return instant(ns), number, nil
}

// parseFloat parses a number with an exponent, as some languages write large ones.
func (o *Options) parseFloat(b []byte) (instant, int, error) {
	if strings.Trim(string(b), "0123456789.eE+-") != "" || !bytes.ContainsAny(b, "eE") {
		return 0, -1, errNoTime
	}
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil || x <= 0 || x > math.MaxInt64 {
		return 0, -1, errNoTime
	}
	plain := strconv.AppendFloat(nil, x, 'f', -1, 64)
	return o.parseEpoch(plain)
}

// parseTTL parses a duration: 30s, 1m30s, PT30S, or a number if TTLUnit is set.
func (o *Options) parseTTL(b []byte) (time.Duration, error) {
	s := string(bytes.TrimSpace(b))
	if s == "" {
		return 0, errNoTime
	}
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		if o.TTLUnit == 0 {
			return 0, errUnit
		}
		ttl := x * float64(o.TTLUnit)
		if !(ttl > 0) || ttl > float64(maxTTL) {
			return 0, errNoTime
		}
		return time.Duration(ttl), nil
	}
	if iso, is := strings.CutPrefix(s, "PT"); is {
		s = strings.ToLower(iso)
	}
	ttl, err := time.ParseDuration(s)
	if err != nil || ttl <= 0 || ttl > maxTTL {
		return 0, errNoTime
	}
	return ttl, nil
}

// maxTTL is the longest TTL that is accepted: longer ones would exceed a history's range.
const maxTTL = 10 * 365 * 24 * time.Hour

// resolution returns the precision of times with a number of decimals, in ns.
func resolution(digits uint8) int64 {
	r := int64(time.Second)
	for range digits {
		r /= 10
	}
	return r
}
