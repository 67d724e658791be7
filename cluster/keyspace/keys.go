package keyspace

import (
	"slices"
	"strings"
)

var keyCommands = map[string]*Command{
	"exists":      reads(1, -1, exists),
	"touch":       reads(1, -1, exists),
	"del":         writes(1, -1, del),
	"unlink":      writes(1, -1, del),
	"expire":      writes(2, -1, expireIn("expire", 1000, false)),
	"pexpire":     writes(2, -1, expireIn("pexpire", 1, false)),
	"expireat":    writes(2, -1, expireIn("expireat", 1000, true)),
	"pexpireat":   writes(2, -1, expireIn("pexpireat", 1, true)),
	"persist":     writes(1, 1, persist),
	"ttl":         reads(1, 1, timeLeft(1000, false)),
	"pttl":        reads(1, 1, timeLeft(1, false)),
	"expiretime":  reads(1, 1, timeLeft(1000, true)),
	"pexpiretime": reads(1, 1, timeLeft(1, true)),
	"type":        reads(1, 1, typeOf),
	"rename":      writes(2, 2, rename),
	"renamenx":    writes(2, 2, renameNX),
	"copy":        grows(2, -1, copyKey),
	"move":        writes(2, 2, moveToDB),
	"object":      reads(1, -1, object),
	"keys":        reads(1, 1, func(db DB, a []string) Reply { return Bulks(db.matching(a[0])) }),
	"scan":        reads(1, -1, scan),
	"randomkey":   reads(0, 0, randomKey),
	"dbsize":      reads(0, 0, func(db DB, _ []string) Reply { return Int(int64(len(db.s.pairs))) }),
	"flushall":    writes(0, -1, flush),
	"flushdb":     writes(0, -1, flush),
}

func del(db DB, args []string) Reply {
	var n int64
	for _, key := range args {
		if _, ok := db.s.Get(key, db.now); ok {
			db.s.delete(key)
			n++
		}
	}
	return Int(n)
}

func exists(db DB, args []string) Reply {
	var n int64
	for _, key := range args {
		if _, ok := db.s.Get(key, db.now); ok {
			n++
		}
	}
	return Int(n)
}

func flush(db DB, args []string) Reply {
	if len(args) > 1 || len(args) == 1 && !strings.EqualFold(args[0], "sync") && !strings.EqualFold(args[0], "async") {
		return Error(syntaxError)
	}
	for _, key := range db.s.Names() {
		db.s.delete(key)
	}
	return OK
}

// expireIn returns EXPIRE or one of its variants, which take a time of the clock or the time left.
func expireIn(name string, unit int64, absolute bool) func(DB, []string) Reply {
	invalid := "ERR invalid expire time in '" + name + "' command"
	return func(db DB, args []string) Reply {
		var nx, xx, gt, lt bool
		for _, word := range args[2:] {
			switch strings.ToLower(word) {
			case "nx":
				nx = true
			case "xx":
				xx = true
			case "gt":
				gt = true
			case "lt":
				lt = true
			default:
				return Error("ERR Unsupported option " + word)
			}
		}
		switch {
		case nx && (xx || gt || lt):
			return Error("ERR NX and XX, GT or LT options at the same time are not compatible")
		case gt && lt:
			return Error("ERR GT and LT options at the same time are not compatible")
		}
		n, ok := Integer(args[1])
		if !ok {
			return Error(notInteger)
		}
		at := n * unit
		if n > Never/unit || n < (-Never-1)/unit {
			return Error(invalid)
		}
		if absolute {
			at -= db.s.Epoch
		} else if at > Never-1-db.s.Epoch-db.now {
			return Error(invalid)
		} else {
			at += db.now
		}
		v, ok := db.s.Get(args[0], db.now)
		if !ok || nx && v.Expires != Never || xx && v.Expires == Never || gt && at <= v.Expires || lt && v.Expires != Never && at >= v.Expires {
			return Int(0)
		}
		if at <= db.now {
			db.s.delete(args[0])
			return Int(1)
		}
		v.Expires = at
		db.s.Put(args[0], v)
		return Int(1)
	}
}

func persist(db DB, args []string) Reply {
	v, ok := db.s.Get(args[0], db.now)
	if !ok || v.Expires == Never {
		return Int(0)
	}
	v.Expires = Never
	db.s.Put(args[0], v)
	return Int(1)
}

// timeLeft returns TTL or one of its variants.
func timeLeft(unit int64, absolute bool) func(DB, []string) Reply {
	return func(db DB, args []string) Reply {
		v, ok := db.s.Get(args[0], db.now)
		switch {
		case !ok:
			return Int(-2)
		case v.Expires == Never:
			return Int(-1)
		case absolute:
			return Int((v.Expires + db.s.Epoch + unit/2) / unit)
		}
		return Int((max(v.Expires-db.now, 0) + unit/2) / unit)
	}
}

func typeOf(db DB, args []string) Reply {
	v, ok := db.s.Get(args[0], db.now)
	if !ok {
		return Reply{Kind: ReplyStatus, Text: "none"}
	}
	return Reply{Kind: ReplyStatus, Text: v.Type()}
}

func rename(db DB, args []string) Reply {
	v, ok := db.s.Get(args[0], db.now)
	switch {
	case !ok:
		return Error(noSuchKey)
	case args[0] != args[1]:
		db.s.delete(args[0])
		db.s.Put(args[1], v)
	}
	return OK
}

func renameNX(db DB, args []string) Reply {
	if _, ok := db.s.Get(args[0], db.now); !ok {
		return Error(noSuchKey)
	}
	if _, taken := db.s.Get(args[1], db.now); taken {
		return Int(0)
	}
	rename(db, args)
	return Int(1)
}

func copyKey(db DB, args []string) Reply {
	replace := false
	for rest := args[2:]; len(rest) > 0; rest = rest[1:] {
		switch word := strings.ToLower(rest[0]); {
		case word == "replace":
			replace = true
		case word == "db" && len(rest) > 1:
			if problem := oneDB(rest[1], "COPY between databases"); problem.Kind != ReplyNil {
				return problem
			}
			rest = rest[1:]
		default:
			return Error(syntaxError)
		}
	}
	if args[0] == args[1] {
		return Error("ERR source and destination objects are the same")
	}
	v, ok := db.s.Get(args[0], db.now)
	if !ok {
		return Int(0)
	}
	if _, taken := db.s.Get(args[1], db.now); taken && !replace {
		return Int(0)
	}
	db.s.Put(args[1], v)
	return Int(1)
}

// oneDB returns Nil for the number of the only database that is modelled, and the reply to others.
func oneDB(number, what string) Reply {
	switch n, ok := Integer(number); {
	case !ok:
		return Error(notInteger)
	case n < 0 || n >= Databases:
		return Error("ERR DB index is out of range")
	case n != 0:
		return Unmodelled(what)
	}
	return Nil
}

// Databases is the number of databases of a server. Only the first one is modelled.
const Databases = 16

// moveToDB implements MOVE.
func moveToDB(_ DB, args []string) Reply {
	if problem := oneDB(args[1], "MOVE between databases"); problem.Kind != ReplyNil {
		return problem
	}
	return Error("ERR source and destination objects are the same")
}

// object implements OBJECT. How a server stores a value depends on its history, of which nothing
// is kept, and so does what it has read lately.
func object(db DB, args []string) Reply {
	word := strings.ToLower(args[0])
	switch word {
	case "encoding", "freq", "idletime", "refcount":
	default:
		return Unmodelled("OBJECT " + args[0])
	}
	if len(args) != 2 {
		return wrongNumber("object|" + word)
	}
	v, ok := db.s.Get(args[1], db.now)
	switch {
	case !ok:
		return Nil
	case word == "encoding" && v.Type() == List:
		return Bulk("quicklist")
	case word == "encoding" && v.Type() == Stream:
		return Bulk(Stream)
	case word == "refcount" && v.Parts != nil:
		return Int(1)
	}
	return Unmodelled("OBJECT " + args[0])
}

// matching returns the keys that match a pattern and have not expired, sorted.
func (db DB) matching(pattern string) []string {
	return slices.DeleteFunc(db.s.Names(), func(key string) bool {
		return !Matches(pattern, key) || db.s.pairs[db.s.find(key)].Expires < db.now
	})
}

func randomKey(db DB, _ []string) Reply {
	names := db.matching("*")
	if len(names) == 0 {
		return Nil
	}
	return Bulk(names[db.s.Intn(len(names))])
}

// scan returns all keys at once, so its cursor is always 0.
func scan(db DB, args []string) Reply {
	o, problem := scanOptions(args)
	if problem != "" {
		return Error(problem)
	}
	names := slices.DeleteFunc(db.matching(o.pattern), func(key string) bool {
		return o.kind != "" && db.s.pairs[db.s.find(key)].Type() != o.kind
	})
	return Array(Bulk("0"), Bulks(names))
}

// scanned holds the options of SCAN, HSCAN, SSCAN and ZSCAN.
type scanned struct{ pattern, kind string }

// scanOptions parses a cursor and the options after it.
func scanOptions(args []string) (o scanned, problem string) {
	o.pattern = "*"
	if n, ok := Integer(args[0]); !ok || n < 0 {
		return o, "ERR invalid cursor"
	}
	for i := 1; i < len(args); i += 2 {
		if i+1 == len(args) {
			return o, syntaxError
		}
		switch strings.ToLower(args[i]) {
		case "match":
			o.pattern = args[i+1]
		case "type":
			o.kind = strings.ToLower(args[i+1])
		case "count":
			if n, ok := Integer(args[i+1]); !ok {
				return o, notInteger
			} else if n < 1 {
				return o, syntaxError
			}
		default:
			return o, syntaxError
		}
	}
	return o, ""
}

// scanParts returns HSCAN, SSCAN or ZSCAN: emit returns what the reply holds for a field or member.
func scanParts(kind string, emit func(p *Parts, name string) []Reply) func(DB, []string) Reply {
	return func(db DB, args []string) Reply {
		o, problem := scanOptions(args[1:])
		v, wrong := db.typed(args[0], kind)
		switch {
		case problem != "" && (problem == "ERR invalid cursor" || v.Parts != nil):
			return Error(problem)
		case wrong != "":
			return Error(wrong)
		case o.kind != "":
			return Error(syntaxError)
		}
		all := Reply{Kind: ReplyArray}
		for _, name := range v.Parts.names() {
			if Matches(o.pattern, name) {
				all.Items = append(all.Items, emit(v.Parts, name)...)
			}
		}
		return Array(Bulk("0"), all)
	}
}
