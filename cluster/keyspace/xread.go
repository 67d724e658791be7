package keyspace

import (
	"math"
	"slices"
	"strings"
	"time"
)

// reading is a parsed XREAD.
type reading struct {
	keys    []string
	after   []entryID
	count   int64
	waits   bool
	timeout time.Duration // 0: there is none
}

// parseRead parses the arguments of XREAD up to the IDs, which Redis parses once it has looked at the keys.
func parseRead(args []string) (o reading, ids []string, problem string) {
	o.count = math.MaxInt64
	for i := 0; i+1 < len(args); i += 2 {
		switch strings.ToLower(args[i]) {
		case "block":
			n, ok := Integer(args[i+1])
			switch {
			case !ok:
				return o, nil, "ERR timeout is not an integer or out of range"
			case n < 0:
				return o, nil, "ERR timeout is negative"
			}
			o.waits, o.timeout = true, time.Duration(min(n, math.MaxInt64/1_000_000))*time.Millisecond
		case "count":
			n, ok := Integer(args[i+1])
			if !ok {
				return o, nil, notInteger
			}
			if o.count = n; n <= 0 {
				o.count = math.MaxInt64
			}
		case "streams":
			rest := args[i+1:]
			if len(rest)%2 != 0 {
				return o, nil, "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."
			}
			o.keys, ids = rest[:len(rest)/2], rest[len(rest)/2:]
			return o, ids, ""
		default:
			return o, nil, syntaxError
		}
	}
	return o, nil, syntaxError
}

// resolve parses the IDs at the time of the command.
func (o *reading) resolve(db DB, ids []string) (problem string) {
	for i, key := range o.keys {
		v, problem := db.typed(key, Stream)
		if problem != "" {
			return problem
		}
		id := v.Parts.latest()
		switch ids[i] {
		case "$":
		case ">":
			return "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
		default:
			if id, problem = parseID(ids[i], 0); problem != "" {
				return problem
			}
		}
		o.after = append(o.after, id)
	}
	return ""
}

// take returns the entries of the streams after their IDs, or Nil. only is a key to look at; empty: all. A client that
// waited for one stream twice gets it once, after the first ID.
func (o *reading) take(db DB, only string) Reply {
	r := Reply{Kind: ReplyMapOrPairs}
	for i, key := range o.keys {
		if only != "" && i != slices.Index(o.keys, only) {
			continue
		}
		v, problem := db.typed(key, Stream)
		if problem != "" {
			return Error(problem)
		}
		all := v.Parts.entries()
		all = all[v.Parts.from(o.after[i].next()):]
		trimmed := only != "" && o.after[i].compare(v.Parts.latest()) < 0 // a later entry is gone: a client that waited gets none
		if (len(all) > 0 || trimmed) && o.after[i] != lastID {
			r.Items = append(r.Items, Bulk(key), entriesReply(all, o.count))
		}
	}
	if len(r.Items) == 0 {
		return Reply{Kind: ReplyNilArray}
	}
	return r
}

func xread(db DB, args []string) Reply {
	o, ids, problem := parseRead(args)
	if problem == "" {
		problem = o.resolve(db, ids)
	}
	if problem != "" {
		return Error(problem)
	}
	return o.take(db, "")
}

// waitToRead returns what XREAD waits for, if it has BLOCK.
func waitToRead(args []string) (w Wait, problem string) {
	o, ids, problem := parseRead(args)
	if problem != "" || !o.waits {
		return Wait{}, problem
	}
	return Wait{
		Keys: o.keys, Timeout: o.timeout, Nothing: Reply{Kind: ReplyNilArray}, kind: Stream,
		begin: func(db DB) { o.resolve(db, ids) },
		take:  func(db DB, key string) Reply { return o.take(db, key) },
	}, ""
}
