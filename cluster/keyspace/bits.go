package keyspace

import (
	"math/bits"
	"strings"
)

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

// bitPos implements BITPOS.
func bitPos(db DB, args []string) Reply {
	bit, ok := Integer(args[1])
	switch {
	case !ok:
		return Error(notInteger)
	case bit != 0 && bit != 1:
		return Error("ERR The bit argument must be 1 or 0.")
	}
	if _, exists := db.s.Get(args[0], db.now); !exists {
		return Int(-bit) // a key that does not exist has only zeros
	}
	v, problem := db.typed(args[0], String)
	if problem != "" {
		return Error(problem)
	}
	first, last, size, problem := bitRange(args[2:], int64(len(v.Text)))
	if problem != "" {
		return Error(problem)
	}
	for at := first * size; at < (last+1)*size; at++ {
		if int64(v.Text[at/8]>>(7-at%8)&1) == bit {
			return Int(at)
		}
	}
	if bit == 0 && len(args) < 4 && first <= last {
		return Int((last + 1) * size) // zeros follow, unless the range has an end
	}
	return Int(-1)
}

// bitRange parses the range of BITPOS in a string of n bytes: the first and the last unit, and
// how many bits a unit has.
func bitRange(args []string, n int64) (first, last, size int64, problem string) {
	first, last, size = 0, n-1, 8
	if len(args) == 0 {
		return first, last, size, ""
	}
	first, ok := Integer(args[0])
	switch {
	case len(args) > 3:
		return 0, 0, 0, syntaxError
	case !ok:
		return 0, 0, 0, notInteger
	}
	if len(args) == 3 {
		switch strings.ToLower(args[2]) {
		case "bit":
			n, size = n*8, 1
		case "byte":
		default:
			return 0, 0, 0, syntaxError
		}
	}
	if len(args) > 1 {
		if last, ok = Integer(args[1]); !ok {
			return 0, 0, 0, notInteger
		}
	}
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last = max(last+n, 0)
	}
	return first, min(last, n-1), size, ""
}

// bitOp implements BITOP. Shorter strings are followed by zeros.
func bitOp(db DB, args []string) Reply {
	op := strings.ToLower(args[0])
	do := map[string]func(a, b byte) byte{
		"and": func(a, b byte) byte { return a & b }, "or": func(a, b byte) byte { return a | b }, "xor": func(a, b byte) byte { return a ^ b }, "not": nil,
	}
	combine, known := do[op]
	switch {
	case !known:
		return Error(syntaxError)
	case op == "not" && len(args) != 3:
		return Error("ERR BITOP NOT must be called with a single source key.")
	}
	var sources []string
	longest := 0
	for _, key := range args[2:] {
		v, problem := db.typed(key, String)
		if problem != "" {
			return Error(problem)
		}
		sources, longest = append(sources, v.Text), max(longest, len(v.Text))
	}
	b := widen(sources[0], longest)
	for _, s := range sources[1:] {
		for i, x := range widen(s, longest) {
			b[i] = combine(b[i], x)
		}
	}
	for i := range b {
		if op == "not" {
			b[i] = ^b[i]
		}
	}
	if len(b) == 0 {
		if _, exists := db.s.Get(args[1], db.now); exists {
			db.s.delete(args[1])
		}
		return Int(0)
	}
	db.s.Put(args[1], Value{Text: string(b), Expires: Never})
	return Int(int64(len(b)))
}
