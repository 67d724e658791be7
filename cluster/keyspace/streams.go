package keyspace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Consumer groups are not modelled.
var streamCommands = map[string]*Command{
	"xadd":      grows(4, -1, xadd),
	"xlen":      reads(1, 1, typed(Stream, func(_ DB, v Value, _ []string) Reply { return Int(int64(len(v.Parts.entries()))) })),
	"xrange":    reads(3, -1, func(db DB, a []string) Reply { return xrange(db, a, a[1], a[2], false) }),
	"xrevrange": reads(3, -1, func(db DB, a []string) Reply { return xrange(db, a, a[2], a[1], true) }),
	"xdel":      writes(2, -1, typed(Stream, xdel)),
	"xtrim":     writes(3, -1, xtrim),
	"xread":     {Min: 3, Max: -1, Do: xread, Waits: waitToRead},
}

// entryID is the ID of an entry of a stream.
type entryID struct{ ms, seq uint64 }

var lastID = entryID{math.MaxUint64, math.MaxUint64}

func (id entryID) compare(o entryID) int {
	return cmp.Or(cmp.Compare(id.ms, o.ms), cmp.Compare(id.seq, o.seq))
}

// next returns the ID that follows; that of lastID is 0-0.
func (id entryID) next() entryID {
	if id.seq++; id.seq == 0 {
		id.ms++
	}
	return id
}

// previous returns the ID before; that of 0-0 is lastID.
func (id entryID) previous() entryID {
	if id.seq--; id.seq == math.MaxUint64 {
		id.ms--
	}
	return id
}

// entry is an entry of a stream: fields and values in turn.
type entry struct {
	id   entryID
	text []string
}

func (e entry) same(o entry) bool { return e.id == o.id && slices.Equal(e.text, o.text) }

func (e entry) compare(id entryID) int { return e.id.compare(id) }

func (e entry) reply() Reply {
	return Array(Bulk(fmt.Sprintf("%d-%d", e.id.ms, e.id.seq)), Bulks(e.text))
}

func (p *Parts) entries() []entry {
	if p == nil {
		return nil
	}
	return p.Entries
}

// latest returns the highest ID that the stream ever had.
func (p *Parts) latest() entryID {
	if p == nil {
		return entryID{}
	}
	return p.Latest
}

// from returns the index of the first entry whose ID is not below id.
func (p *Parts) from(id entryID) int {
	i, _ := slices.BinarySearchFunc(p.entries(), id, entry.compare)
	return i
}

const invalidID = "ERR Invalid stream ID specified as stream command argument"

// parseID parses an ID. missing is the second number of one that has only the first.
func parseID(s string, missing uint64) (id entryID, problem string) {
	first, second, both := strings.Cut(s, "-")
	ms, err := strconv.ParseUint(first, 10, 64)
	if err == nil && both {
		missing, err = strconv.ParseUint(second, 10, 64)
	}
	if err != nil {
		return entryID{}, invalidID
	}
	return entryID{ms, missing}, ""
}

// parseBound parses an end of a range; which is "start" or "end".
func parseBound(s, which string) (id entryID, problem string) {
	missing := uint64(0)
	if which == "end" {
		missing = math.MaxUint64
	}
	text, open := strings.CutPrefix(s, "(")
	switch {
	case s == "-":
		return entryID{}, ""
	case s == "+":
		return lastID, ""
	}
	id, problem = parseID(text, missing)
	switch {
	case problem != "" || !open:
	case which == "start" && id == lastID, which == "end" && id == entryID{}:
		problem = "ERR invalid " + which + " ID for the interval"
	case which == "start":
		id = id.next()
	default:
		id = id.previous()
	}
	return id, problem
}

// trim says which entries XADD and XTRIM remove.
type trim struct {
	word   string // maxlen or minid; empty: none
	atMost int64
	below  entryID
	rough  bool // only whole blocks, which have a hundred entries, except the last
	limit  int64
}

// parse parses a word and its arguments. It returns the rest of the arguments, which is all of them if it knows no such word.
func (o *trim) parse(args []string) (rest []string, problem string) {
	if len(args) < 2 {
		return args, ""
	}
	var ok bool
	switch word := strings.ToLower(args[0]); word {
	case "maxlen", "minid":
		if o.word != "" {
			return nil, "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
		}
		o.word = word
		args = args[1:]
		if len(args) > 1 && (args[0] == "~" || args[0] == "=") {
			o.rough = args[0] == "~"
			args = args[1:]
		}
		if word == "minid" {
			o.below, problem = parseID(args[0], 0)
		} else if o.atMost, ok = Integer(args[0]); !ok {
			problem = notInteger
		} else if o.atMost < 0 {
			problem = "ERR The MAXLEN argument must be >= 0."
		}
		return args[1:], problem
	case "limit":
		if o.limit, ok = Integer(args[1]); !ok {
			problem = notInteger
		} else if o.limit < 0 {
			problem = "ERR The LIMIT argument must be >= 0."
		}
		return args[2:], problem
	}
	return args, ""
}

// check returns the error of options that do not fit together. An absent limit is negative.
func (o *trim) check() (problem string) {
	switch {
	case o.limit > 0 && o.word == "":
		return "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
	case o.limit >= 0 && o.word != "" && !o.rough:
		return "ERR syntax error, LIMIT cannot be used without the special ~ option"
	}
	return ""
}

// apply removes entries from a stream, and returns their number.
func (o *trim) apply(p *Parts) int {
	n := 0
	switch o.word {
	case "maxlen":
		n = int(max(int64(len(p.entries()))-o.atMost, 0))
	case "minid":
		n = p.from(o.below)
	}
	if o.rough && o.limit > 0 {
		n = int(min(int64(n), o.limit))
	}
	if o.rough && n < len(p.entries()) {
		n -= n % 100
	}
	if n > 0 {
		p.Entries = p.Entries[n:]
	}
	return n
}

func xadd(db DB, args []string) Reply {
	o, onlyExisting, rest := trim{limit: -1}, false, args[1:]
	for len(rest) > 0 && rest[0] != "*" {
		if strings.EqualFold(rest[0], "nomkstream") {
			onlyExisting, rest = true, rest[1:]
			continue
		}
		after, problem := o.parse(rest)
		if problem != "" {
			return Error(problem)
		}
		if len(after) == len(rest) {
			break
		}
		rest = after
	}
	word := ""
	if len(rest) > 0 {
		word = rest[0]
	}
	first, newest := strings.CutSuffix(word, "-*")
	var id entryID
	problem := ""
	if word != "*" && word != "" {
		if newest {
			word = first
		}
		id, problem = parseID(word, 0)
	}
	if problem = cmp.Or(problem, o.check()); problem != "" {
		return Error(problem)
	}
	if len(rest) < 3 || len(rest)%2 == 0 {
		return wrongNumber("xadd")
	}
	if word != "*" && !newest && id == (entryID{}) {
		return Error("ERR The ID specified in XADD must be greater than 0-0")
	}
	v, problem := db.typed(args[0], Stream)
	switch {
	case problem != "":
		return Error(problem)
	case v.Parts == nil && onlyExisting:
		return Nil
	}
	p := copyOf(v.Parts, Stream)
	if p.Latest == lastID {
		return Error("ERR The stream has exhausted the last possible ID, unable to add more items")
	}
	switch now := uint64(db.now + db.s.Epoch); {
	case word == "*" && now > p.Latest.ms:
		id = entryID{ms: now}
	case word == "*", newest && id.ms == p.Latest.ms && p.Latest.seq < math.MaxUint64:
		id = p.Latest.next()
	}
	if id.compare(p.Latest) <= 0 {
		return Error("ERR The ID specified in XADD is equal or smaller than the target stream top item")
	}
	e := entry{id, slices.Clone(rest[1:])}
	p.Entries, p.Latest = append(p.Entries, e), id
	o.apply(p)
	v.Parts = p
	db.s.Put(args[0], v)
	return e.reply().Items[0]
}

// xrange implements XRANGE and XREVRANGE.
func xrange(db DB, args []string, start, end string, backwards bool) Reply {
	from, problem := parseBound(start, "start")
	to, problem2 := parseBound(end, "end")
	if backwards && problem2 != "" && problem == "" || problem == "" {
		problem = problem2
	}
	number, rest := int64(math.MaxInt64), args[3:]
	for ; problem == "" && len(rest) > 0; rest = rest[2:] {
		if len(rest) == 1 || !strings.EqualFold(rest[0], "count") {
			return Error(syntaxError)
		}
		n, ok := Integer(rest[1])
		if !ok {
			return Error(notInteger)
		}
		number = max(n, 0)
	}
	if problem != "" {
		return Error(problem)
	}
	v, problem := db.typed(args[0], Stream)
	switch {
	case problem != "":
		return Error(problem)
	case v.Parts == nil:
		return Array()
	case number == 0:
		return Reply{Kind: ReplyNilArray}
	}
	first, last := v.Parts.from(from), v.Parts.from(to)
	if all := v.Parts.Entries; last < len(all) && all[last].id == to {
		last++
	}
	found := slices.Clone(v.Parts.Entries[first:max(first, last)])
	if backwards {
		slices.Reverse(found)
	}
	return entriesReply(found, number)
}

func entriesReply(all []entry, most int64) Reply {
	r := Array()
	for _, e := range all[:min(int64(len(all)), most)] {
		r.Items = append(r.Items, e.reply())
	}
	return r
}

func xdel(db DB, v Value, args []string) Reply {
	if v.Parts == nil {
		return Int(0)
	}
	p := copyOf(v.Parts, Stream)
	for _, word := range args[1:] {
		id, problem := parseID(word, 0)
		if problem != "" {
			return Error(problem)
		}
		p.Entries = slices.DeleteFunc(p.Entries, func(e entry) bool { return e.id == id })
	}
	return db.shortened(args[0], v, p)
}

// shortened stores a stream without some of its entries, and returns their number. A stream without entries exists.
func (db DB) shortened(key string, v Value, p *Parts) Reply {
	n := len(v.Parts.entries()) - len(p.Entries)
	if n > 0 {
		v.Parts = p
		db.s.Put(key, v)
	}
	return Int(int64(n))
}

func xtrim(db DB, args []string) Reply {
	o := trim{limit: -1}
	for rest := args[1:]; len(rest) > 0; {
		after, problem := o.parse(rest)
		if problem == "" && len(after) == len(rest) {
			problem = syntaxError
		}
		if problem != "" {
			return Error(problem)
		}
		rest = after
	}
	problem := o.check()
	if problem == "" && o.word == "" {
		problem = "ERR syntax error, XTRIM must be called with a trimming strategy"
	}
	if problem != "" {
		return Error(problem)
	}
	v, problem := db.typed(args[0], Stream)
	switch {
	case problem != "":
		return Error(problem)
	case v.Parts == nil:
		return Int(0)
	}
	p := copyOf(v.Parts, Stream)
	o.apply(p)
	return db.shortened(args[0], v, p)
}
