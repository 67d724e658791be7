package keyspace

import (
	"math"
	"strings"
)

// setOptions holds the options of SET and GETEX.
type setOptions struct {
	nx, xx, get, keep, persist bool
	timed                      bool
	word, time                 string // EX, PX, EXAT or PXAT and its argument
	expires                    int64
}

// options parses the options of SET or GETEX; problem is the text of an error.
func options(args []string, isSet bool) (o setOptions, problem string) {
	o.expires = Never
	for i := 0; i < len(args); i++ {
		switch word := strings.ToLower(args[i]); {
		case isSet && word == "nx" && !o.xx:
			o.nx = true
		case isSet && word == "xx" && !o.nx:
			o.xx = true
		case isSet && word == "get":
			o.get = true
		case isSet && word == "keepttl" && !o.timed:
			o.keep = true
		case !isSet && word == "persist" && !o.timed:
			o.persist = true
		case (word == "px" || word == "ex" || word == "pxat" || word == "exat") && !o.timed && !o.keep && !o.persist && i+1 < len(args):
			o.timed = true
			i++
			o.word, o.time = word, args[i]
		default:
			return o, syntaxError
		}
	}
	return o, ""
}

// parse computes the deadline.
func (o *setOptions) parse(db DB, name string) (problem string) {
	if o.timed {
		o.expires, problem = db.deadline(name, o.word, o.time)
	}
	return problem
}

// deadline returns the time at which a key expires; word is one of EX, PX, EXAT and PXAT.
func (db DB) deadline(name, word, arg string) (at int64, problem string) {
	n, ok := Integer(arg)
	if !ok {
		return 0, notInteger
	}
	unit := int64(1)
	if word[0] == 'e' {
		unit = 1000
	}
	invalid := "ERR invalid expire time in '" + name + "' command"
	switch {
	case n <= 0 || n > math.MaxInt64/unit:
		return 0, invalid
	case strings.HasSuffix(word, "at"):
		return n*unit - db.s.Epoch, ""
	case n*unit > Never-1-db.s.Epoch-max(db.now, 0):
		return 0, invalid
	}
	return db.now + n*unit, ""
}

func set(db DB, args []string) Reply {
	key := args[0]
	o, problem := options(args[2:], true)
	if problem == "" {
		problem = o.parse(db, "set")
	}
	if problem != "" {
		return Error(problem)
	}
	old, exists := db.s.Get(key, db.now)
	answer, refused := OK, Nil
	if o.get {
		if exists && old.Parts != nil {
			return Error(wrongType)
		}
		answer = found(old.Text, exists)
		refused = answer
	}
	if o.nx && exists || o.xx && !exists {
		return refused
	}
	switch {
	case o.keep && exists:
		o.expires = old.Expires
	case o.expires <= db.now: // a PXAT that lies in the past
		db.s.delete(key)
		return answer
	}
	db.s.Put(key, Value{Text: args[1], Expires: o.expires})
	return answer
}

func getEx(db DB, args []string) Reply {
	o, problem := options(args[1:], false)
	if problem != "" {
		return Error(problem)
	}
	r := get(db, args[:1])
	if r.Kind != ReplyBulk {
		return r
	}
	if problem := o.parse(db, "getex"); problem != "" {
		return Error(problem)
	}
	v, _ := db.s.Get(args[0], db.now)
	switch {
	case o.timed && o.expires <= db.now:
		db.s.delete(args[0])
	case o.timed || o.persist && v.Expires != Never:
		v.Expires = o.expires
		db.s.Put(args[0], v)
	}
	return r
}

func setNX(db DB, key, text string) bool {
	if _, exists := db.s.Get(key, db.now); exists {
		return false
	}
	db.s.Put(key, Value{Text: text, Expires: Never})
	return true
}

// setFor implements SETEX and PSETEX.
func setFor(db DB, name string, args []string, unit int64) Reply {
	word := "px"
	if unit > 1 {
		word = "ex"
	}
	at, problem := db.deadline(name, word, args[1])
	if problem != "" {
		return Error(problem)
	}
	db.s.Put(args[0], Value{Text: args[2], Expires: at})
	return OK
}
