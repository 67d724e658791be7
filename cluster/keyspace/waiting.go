package keyspace

import (
	"math"
	"strings"
	"time"
)

// Wait is what a blocking command waits for: a value of one type under one of its keys.
type Wait struct {
	Keys    []string
	Timeout time.Duration // 0: there is none
	Nothing Reply         // if nothing was stored in time

	kind  string
	begin func(db DB) // called when the wait begins; nil: nothing is to be done
	take  func(db DB, key string) Reply
}

// Begin is called when the client begins to wait.
func (w *Wait) Begin(db DB) {
	if w.begin != nil {
		w.begin(db)
	}
}

// Serve takes from a key that was stored while a client waited; ok: there was something for it.
func (w *Wait) Serve(db DB, key string) (r Reply, ok bool) {
	if v, problem := db.typed(key, w.kind); problem != "" || v.Parts == nil {
		return Reply{}, false
	}
	r = w.take(db, key)
	return r, r.Kind != ReplyNilArray
}

// now takes from the first key that exists.
func (w *Wait) now(db DB) Reply {
	for _, key := range w.Keys {
		switch v, problem := db.typed(key, w.kind); {
		case problem != "":
			return Error(problem)
		case v.Parts != nil:
			return w.take(db, key)
		}
	}
	return w.Nothing
}

// waits makes a command blocking. parse returns what it waits for.
func waits(c *Command, noScript bool, parse func(args []string) (w Wait, problem string)) *Command {
	c.Waits, c.NoScript = parse, noScript
	c.Do = func(db DB, args []string) Reply {
		w, problem := parse(args)
		if problem != "" {
			return Error(problem)
		}
		return w.now(db)
	}
	return c
}

// timeout parses the timeout of a blocking command, in seconds.
func timeout(text string) (d time.Duration, problem string) {
	seconds, ok := float(text)
	switch ms := math.Ceil(seconds * 1000); {
	case !ok || math.IsInf(seconds, 0):
		return 0, "ERR timeout is not a float or out of range"
	case ms < 0 || ms >= math.MaxInt64: // Redis converts it to an int64 with overflow
		return 0, "ERR timeout is negative"
	case ms > math.MaxInt64-1<<41: // its deadline would not be an int64
		return 0, "ERR timeout is out of range"
	default: // longer ones than time.Duration holds never end
		return time.Duration(min(ms, math.MaxInt64/1e6)) * time.Millisecond, ""
	}
}

// waitToPop returns BLPOP or one of its variants, whose last argument is the timeout.
func waitToPop(kind string, pop func(db DB, args []string) Reply) func([]string) (Wait, string) {
	return func(args []string) (Wait, string) {
		last := len(args) - 1
		d, problem := timeout(args[last])
		take := func(db DB, key string) Reply {
			r := pop(db, []string{key})
			if r.Kind == ReplyArray { // a member and its score
				return Array(append([]Reply{Bulk(key)}, r.Items...)...)
			}
			return Array(Bulk(key), r)
		}
		return Wait{Keys: args[:last], Timeout: d, Nothing: Reply{Kind: ReplyNilArray}, kind: kind, take: take}, problem
	}
}

// waitToMove implements BLMOVE.
func waitToMove(args []string) (Wait, string) {
	fromLeft, toLeft, problem := ends(args[2], args[3])
	if problem != "" {
		return Wait{}, problem
	}
	d, problem := timeout(args[4])
	return Wait{Keys: args[:1], Timeout: d, kind: List, take: func(db DB, key string) Reply { return move(db, key, args[1], fromLeft, toLeft) }}, problem
}

// waitToRotate implements BRPOPLPUSH.
func waitToRotate(args []string) (Wait, string) {
	d, problem := timeout(args[2])
	return Wait{Keys: args[:1], Timeout: d, kind: List, take: func(db DB, key string) Reply { return move(db, key, args[1], false, true) }}, problem
}

// waitToPopMany returns BLMPOP or BZMPOP, whose first argument is the timeout.
func waitToPopMany(o popper) func([]string) (Wait, string) {
	return func(args []string) (Wait, string) {
		w, problem := o.parse(args[1:])
		if problem == "" {
			w.Timeout, problem = timeout(args[0])
		}
		return w, problem
	}
}

// popper is the kind of LMPOP or ZMPOP.
type popper struct {
	kind        string
	first, last string // the words for the two ends of the values
	take        func(db DB, key string, first bool, n int64) Reply
}

var (
	listPopper      = popper{List, "left", "right", popElements}
	sortedSetPopper = popper{SortedSet, "min", "max", popMembers}
)

// do implements LMPOP or ZMPOP.
func (o popper) do(db DB, args []string) Reply {
	w, problem := o.parse(args)
	if problem != "" {
		return Error(problem)
	}
	return w.now(db)
}

// parse parses the arguments of LMPOP or ZMPOP.
func (o popper) parse(args []string) (w Wait, problem string) {
	n, ok := Integer(args[0])
	if !ok || n < 1 {
		return w, "ERR numkeys should be greater than 0"
	}
	if n > int64(len(args)-2) {
		return w, syntaxError
	}
	word, rest, number := strings.ToLower(args[n+1]), args[n+2:], int64(1)
	if word != o.first && word != o.last {
		return w, syntaxError
	}
	if len(rest) > 0 {
		if len(rest) == 1 || !strings.EqualFold(rest[0], "count") {
			return w, syntaxError
		}
		if number, ok = Integer(rest[1]); !ok || number < 1 {
			return w, "ERR count should be greater than 0"
		}
		if len(rest) > 2 {
			return w, syntaxError
		}
	}
	return Wait{Keys: args[1 : n+1], Nothing: Reply{Kind: ReplyNilArray}, kind: o.kind, take: func(db DB, key string) Reply {
		return Array(Bulk(key), o.take(db, key, word == o.first, number))
	}}, ""
}

// popElements removes elements at an end of a list.
func popElements(db DB, key string, left bool, n int64) Reply {
	v, _ := db.typed(key, List)
	p := copyOf(v.Parts, List)
	r := Array()
	for range min(n, int64(p.count())) {
		r.Items = append(r.Items, Bulk(p.take(left)))
	}
	db.save(key, v, p)
	return r
}

// popMembers removes the members of a sorted set with the lowest or the highest scores. Each is a
// pair in both versions of the protocol.
func popMembers(db DB, key string, lowest bool, n int64) Reply {
	v, _ := db.typed(key, SortedSet)
	names := v.Parts.popped(!lowest, n)
	r := Array()
	for _, name := range names {
		r.Items = append(r.Items, Array(Bulk(name), v.Parts.scoreOf(name)))
	}
	db.remove(key, v, names)
	return r
}
