package keyspace

import "strings"

var stringCommands = map[string]*Command{
	"get":         reads(1, 1, get),
	"set":         grows(2, -1, set),
	"setnx":       grows(2, 2, func(db DB, a []string) Reply { return Bool(setNX(db, a[0], a[1])) }),
	"setex":       grows(3, 3, func(db DB, a []string) Reply { return setFor(db, "setex", a, 1000) }),
	"psetex":      grows(3, 3, func(db DB, a []string) Reply { return setFor(db, "psetex", a, 1) }),
	"getset":      grows(2, 2, getSet),
	"getdel":      writes(1, 1, getDel),
	"getex":       writes(1, -1, getEx),
	"mget":        reads(1, -1, mget),
	"mset":        grows(2, -1, mset),
	"msetnx":      grows(2, -1, msetNX),
	"append":      grows(2, 2, typed(String, appendTo)),
	"strlen":      reads(1, 1, typed(String, func(_ DB, v Value, _ []string) Reply { return Int(int64(len(v.Text))) })),
	"getrange":    reads(3, 3, getRange),
	"substr":      reads(3, 3, getRange),
	"setrange":    grows(3, 3, setRange),
	"incr":        grows(1, 1, func(db DB, a []string) Reply { return increase(db, a[0], 1) }),
	"incrby":      grows(2, 2, func(db DB, a []string) Reply { return increaseBy(db, a[0], a[1], 1) }),
	"decr":        grows(1, 1, func(db DB, a []string) Reply { return increase(db, a[0], -1) }),
	"decrby":      grows(2, 2, func(db DB, a []string) Reply { return increaseBy(db, a[0], a[1], -1) }),
	"incrbyfloat": grows(2, 2, typed(String, increaseByFloat)),
	"setbit":      grows(3, 3, setBit),
	"getbit":      reads(2, 2, getBit),
	"bitcount":    reads(1, 4, bitCount),
	"bitpos":      reads(2, -1, bitPos),
	"bitop":       grows(3, -1, bitOp),
}

// Take implements SET key token NX PX ttl, the command that acquires most locks.
func (db DB) Take(key, token string, ttl int64) Reply {
	if db.s.live(key, db.now) >= 0 {
		return Nil
	}
	db.s.insert(key, Value{Text: token, Expires: db.now + ttl})
	return OK
}

func get(db DB, args []string) Reply {
	v, ok := db.s.Get(args[0], db.now)
	if ok && v.Parts != nil {
		return Error(wrongType)
	}
	return found(v.Text, ok)
}

func getSet(db DB, args []string) Reply {
	old := get(db, args[:1])
	if old.Kind != ReplyError {
		db.s.Put(args[0], Value{Text: args[1], Expires: Never})
	}
	return old
}

func getDel(db DB, args []string) Reply {
	old := get(db, args)
	if old.Kind == ReplyBulk {
		db.s.delete(args[0])
	}
	return old
}

func mget(db DB, args []string) Reply {
	all := Reply{Kind: ReplyArray}
	for _, key := range args {
		v, ok := db.s.Get(key, db.now)
		all.Items = append(all.Items, found(v.Text, ok && v.Parts == nil))
	}
	return all
}

func mset(db DB, args []string) Reply {
	if len(args)%2 != 0 {
		return wrongNumber("mset")
	}
	for i := 0; i < len(args); i += 2 {
		db.s.Put(args[i], Value{Text: args[i+1], Expires: Never})
	}
	return OK
}

func msetNX(db DB, args []string) Reply {
	if len(args)%2 != 0 {
		return wrongNumber("msetnx")
	}
	for i := 0; i < len(args); i += 2 {
		if _, exists := db.s.Get(args[i], db.now); exists {
			return Int(0)
		}
	}
	mset(db, args)
	return Int(1)
}

func appendTo(db DB, v Value, args []string) Reply {
	v.Text += args[1]
	db.s.Put(args[0], v)
	return Int(int64(len(v.Text)))
}

func getRange(db DB, args []string) Reply {
	first, ok := Integer(args[1])
	last, ok2 := Integer(args[2])
	if !ok || !ok2 {
		return Error(notInteger)
	}
	v, problem := db.typed(args[0], String)
	if problem != "" {
		return Error(problem)
	}
	if first < 0 && last < 0 && first > last {
		return Bulk("")
	}
	from, to := span(first, max(last, -int64(len(v.Text))), len(v.Text))
	return Bulk(v.Text[from:to])
}

// longest is the length of the longest string, in bytes.
const longest = 512 << 20

func setRange(db DB, args []string) Reply {
	at, ok := Integer(args[1])
	switch {
	case !ok:
		return Error(notInteger)
	case at < 0:
		return Error("ERR offset is out of range")
	}
	v, problem := db.typed(args[0], String)
	switch {
	case problem != "":
		return Error(problem)
	case args[2] == "":
		return Int(int64(len(v.Text)))
	case at > longest || at+int64(len(args[2])) > longest:
		return Error("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	}
	b := widen(v.Text, int(at)+len(args[2]))
	copy(b[at:], args[2])
	v.Text = string(b)
	db.s.Put(args[0], v)
	return Int(int64(len(b)))
}

// widen returns the bytes of a string, followed by zeros up to a length.
func widen(s string, n int) []byte {
	if n <= len(s) {
		return []byte(s)
	}
	return []byte(s + strings.Repeat("\x00", n-len(s)))
}
