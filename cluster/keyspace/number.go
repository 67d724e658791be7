package keyspace

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

func increaseBy(db DB, key, by string, sign int64) Reply {
	n, ok := Integer(by)
	switch {
	case !ok:
		return Error(notInteger)
	case sign < 0 && n == math.MinInt64:
		return Error("ERR decrement would overflow")
	}
	return increase(db, key, sign*n)
}

func increase(db DB, key string, by int64) Reply {
	v, problem := db.typed(key, String)
	if problem != "" {
		return Error(problem)
	}
	n, ok := int64(0), true
	if v.Text != "" || db.s.find(key) >= 0 {
		n, ok = Integer(v.Text)
	}
	if !ok {
		return Error(notInteger)
	}
	if n, ok = sum(n, by); !ok {
		return Error(overflow)
	}
	v.Text = strconv.FormatInt(n, 10)
	db.s.Put(key, v)
	return Int(n)
}

// sum adds numbers; ok: the sum is one.
func sum(n, by int64) (result int64, ok bool) {
	return n + by, !(by < 0 && n < math.MinInt64-by || by > 0 && n > math.MaxInt64-by)
}

func increaseByFloat(db DB, v Value, args []string) Reply {
	text, problem := sumOfDecimals(v.Text, args[1], notFloat)
	if problem != "" {
		return Error(problem)
	}
	v.Text = text
	db.s.Put(args[0], v)
	return Bulk(text)
}

// sumOfDecimals adds numbers with the precision of a long double, as Redis does. An empty number
// counts as 0. problem is the text of an error, notNumber if x is none.
func sumOfDecimals(x, by, notNumber string) (text, problem string) {
	if x == "" {
		x = "0"
	}
	a, ok := decimal(x)
	if !ok {
		return "", notNumber
	}
	b, ok := decimal(by)
	if !ok {
		return "", notFloat
	}
	if a.IsInf() || b.IsInf() {
		return "", "ERR increment would produce NaN or Infinity"
	}
	text = a.Add(a, b).Text('f', 17)
	if text = strings.TrimRight(strings.TrimRight(text, "0"), "."); text == "-0" {
		text = "0"
	}
	return text, ""
}

// decimal parses a number with the precision of a long double.
func decimal(s string) (*big.Float, bool) {
	if _, ok := float(s); !ok {
		return nil, false
	}
	x, _, err := big.ParseFloat(s, 0, 64, big.ToNearestEven)
	return x, err == nil
}

const (
	badBitOffset = "ERR bit offset is not an integer or out of range"
	badBit       = "ERR bit is not an integer or out of range"
)

// bitOffset parses the position of a bit.
func bitOffset(s string) (at int, ok bool) {
	n, ok := Integer(s)
	return int(n), ok && n >= 0 && n < longest*8
}

func setBit(db DB, args []string) Reply {
	at, ok := bitOffset(args[1])
	if !ok {
		return Error(badBitOffset)
	}
	if args[2] != "0" && args[2] != "1" {
		return Error(badBit)
	}
	v, problem := db.typed(args[0], String)
	if problem != "" {
		return Error(problem)
	}
	b := widen(v.Text, at/8+1)
	mask := byte(1) << (7 - at%8)
	old := b[at/8]&mask != 0
	if b[at/8] &^= mask; args[2] == "1" {
		b[at/8] |= mask
	}
	v.Text = string(b)
	db.s.Put(args[0], v)
	return Bool(old)
}

func getBit(db DB, args []string) Reply {
	at, ok := bitOffset(args[1])
	if !ok {
		return Error(badBitOffset)
	}
	v, problem := db.typed(args[0], String)
	if problem != "" {
		return Error(problem)
	}
	return Bool(at/8 < len(v.Text) && v.Text[at/8]&(1<<(7-at%8)) != 0)
}

func bitCount(db DB, args []string) Reply {
	v, problem := db.typed(args[0], String)
	if problem != "" {
		return Error(problem)
	}
	if _, exists := db.s.Get(args[0], db.now); !exists || len(args) == 1 {
		return Int(ones(v.Text))
	}
	if len(args) == 2 {
		return Error(syntaxError)
	}
	first, ok := Integer(args[1])
	last, ok2 := Integer(args[2])
	if !ok || !ok2 {
		return Error(notInteger)
	}
	unit := "byte"
	if len(args) == 4 {
		unit = strings.ToLower(args[3])
	}
	switch {
	case first < 0 && last < 0 && first > last:
		return Int(0)
	case unit == "byte":
		from, to := span(first, max(last, -int64(len(v.Text))), len(v.Text))
		return Int(ones(v.Text[from:to]))
	case unit != "bit":
		return Error(syntaxError)
	}
	n := int64(0)
	from, to := span(first, max(last, -int64(len(v.Text))*8), len(v.Text)*8)
	for at := from; at < to; at++ {
		n += int64(v.Text[at/8] >> (7 - at%8) & 1)
	}
	return Int(n)
}

func ones(s string) (n int64) {
	for i := range len(s) {
		n += int64(bits.OnesCount8(s[i]))
	}
	return n
}
