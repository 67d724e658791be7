package sim

import (
	"math"
	"strconv"
	"strings"

	"lockpick/cluster"
)

// take implements SET key token NX PX ttl.
func (db DB) take(key, token string, ttl int64) reply {
	if refused := db.refuses("set"); refused != "" {
		return errorReply(refused)
	}
	if db.s.live(key, db.now) >= 0 {
		return nilReply
	}
	db.s.insert(key, value{text: token, expires: db.now + ttl})
	return okReply
}

// fastRelease has the effect of the release script: it deletes a key that stores a token, and
// returns the number of keys deleted. done is false if the script would end with an error.
func (db DB) fastRelease(key, token string) (n int64, done bool) {
	i := db.s.live(key, db.now)
	switch {
	case i < 0:
		return 0, true
	case db.s.pairs[i].hash != nil:
		return 0, false
	case db.s.pairs[i].text != token:
		return 0, true
	case db.refuses("del") != "":
		return 0, false
	}
	db.m.account.calls("del", []string{key})
	db.s.remove(i, cluster.Deleted)
	return 1, true
}

// setOptions holds the options of SET.
type setOptions struct {
	nx, xx, get, keep bool
	expires           int64 // ms on the master's clock
}

// options parses the options of SET; problem is the text of an error.
func (db DB) options(args []string) (o setOptions, problem string) {
	o.expires = never
	timed := false
	for i := 0; i < len(args); i++ {
		switch word := strings.ToLower(args[i]); {
		case word == "nx" && !o.xx:
			o.nx = true
		case word == "xx" && !o.nx:
			o.xx = true
		case word == "get":
			o.get = true
		case word == "keepttl" && !timed:
			o.keep = true
		case (word == "px" || word == "ex" || word == "pxat" || word == "exat") && !timed && !o.keep && i+1 < len(args):
			timed = true
			i++
			n, err := strconv.ParseInt(args[i], 10, 64)
			if err != nil {
				return o, notInteger
			}
			unit := int64(1)
			if word[0] == 'e' {
				unit = 1000
			}
			if n <= 0 || n > math.MaxInt64/unit {
				return o, "ERR invalid expire time in 'set' command"
			}
			o.expires = n * unit
			if strings.HasSuffix(word, "at") {
				o.expires -= Epoch.UnixMilli()
			} else if o.expires > never-1-max(db.now, 0) {
				return o, "ERR invalid expire time in 'set' command"
			} else {
				o.expires += db.now
			}
		default:
			return o, syntaxError
		}
	}
	return o, ""
}

func set(db DB, args []string) reply {
	key := args[0]
	o, problem := db.options(args[2:])
	if problem != "" {
		return errorReply(problem)
	}
	old, exists := db.s.get(key, db.now)
	answer, refused := okReply, nilReply
	if o.get {
		if exists && old.hash != nil {
			return errorReply(wrongType)
		}
		if exists {
			answer = bulkReply(old.text)
		} else {
			answer = nilReply
		}
		refused = answer
	}
	if o.nx && exists || o.xx && !exists {
		return refused
	}
	switch {
	case o.keep && exists:
		o.expires = old.expires
	case o.expires <= db.now: // a PXAT that lies in the past
		if exists {
			db.s.drop(key, cluster.Deleted)
		}
		return answer
	}
	db.s.put(key, value{text: args[1], expires: o.expires})
	return answer
}

func setNX(db DB, key, text string) bool {
	if _, exists := db.s.get(key, db.now); exists {
		return false
	}
	db.s.put(key, value{text: text, expires: never})
	return true
}
