package keyspace

import (
	"math"
	"strconv"
	"strings"
)

// DB gives access to the keys of a server at one time of its clock.
type DB struct {
	s   *Store
	now int64 // ms since the epoch of the server's clock
}

// At returns the keys at a time, in ms since the epoch of the server's clock.
func At(s *Store, now int64) DB { return DB{s, now} }

// Command is a Redis command.
type Command struct {
	Min, Max int  // arguments after the name; Max < 0: any number
	Writes   bool // a server with a failing disk refuses it
	Grows    bool // a server whose memory is full refuses it
	NoScript bool // scripts may not call it
	Do       func(db DB, args []string) Reply

	// Waits returns what a blocking command waits for, or the text of an error; nil: it never
	// waits. Do never waits, like a blocking command in a transaction. Without keys it does not wait.
	Waits func(args []string) (w Wait, problem string)
}

// Accepts reports whether the command takes n arguments after its name.
func (c *Command) Accepts(n int) bool { return n >= c.Min && (c.Max < 0 || n <= c.Max) }

// The kinds of commands, as in Redis's own table.
func reads(least, most int, do func(DB, []string) Reply) *Command {
	return &Command{Min: least, Max: most, Do: do}
}

func writes(least, most int, do func(DB, []string) Reply) *Command {
	return &Command{Min: least, Max: most, Writes: true, Do: do}
}

func grows(least, most int, do func(DB, []string) Reply) *Command {
	return &Command{Min: least, Max: most, Writes: true, Grows: true, Do: do}
}

// Tables holds the commands by subject, in the order of the documentation.
var Tables = []struct {
	Subject  string
	Commands map[string]*Command
}{
	{"strings", stringCommands}, {"keys", keyCommands}, {"hashes", hashCommands}, {"lists", listCommands},
	{"sets", setCommands}, {"sorted sets", sortedSetCommands}, {"streams", streamCommands},
}

// Find returns the command with a name in lower case; nil: there is none.
func Find(name string) *Command {
	for _, t := range Tables {
		if c := t.Commands[name]; c != nil {
			return c
		}
	}
	return nil
}

// Errors of several commands.
const (
	syntaxError = "ERR syntax error"
	notInteger  = "ERR value is not an integer or out of range"
	notFloat    = "ERR value is not a valid float"
	wrongType   = "WRONGTYPE Operation against a key holding the wrong kind of value"
	overflow    = "ERR increment or decrement would overflow"
	noSuchKey   = "ERR no such key"
	outOfRange  = "ERR index out of range"
	notPositive = "ERR value is out of range, must be positive"
)

func wrongNumber(name string) Reply {
	return Error("ERR wrong number of arguments for '" + name + "' command")
}

// typed returns a command for values of one type. It gets the value of its first argument; if the
// key does not exist, the value has no parts.
func typed(kind string, do func(db DB, v Value, args []string) Reply) func(DB, []string) Reply {
	return func(db DB, args []string) Reply {
		v, problem := db.typed(args[0], kind)
		if problem != "" {
			return Error(problem)
		}
		return do(db, v, args)
	}
}

// typed returns the value of a key; problem is the error if the value has another type.
func (db DB) typed(key, kind string) (v Value, problem string) {
	v, ok := db.s.Get(key, db.now)
	switch {
	case !ok:
		return Value{Expires: Never}, ""
	case v.Type() != kind:
		return v, wrongType
	}
	return v, ""
}

// save stores a value with other parts. A key without elements does not exist.
func (db DB) save(key string, v Value, p *Parts) {
	if v.Parts = p; p.count() > 0 {
		db.s.Put(key, v)
	} else {
		db.s.delete(key)
	}
}

// Integer parses a number as Redis does: it accepts only the form in which Redis would write it.
func Integer(s string) (n int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && (s[0] != '+' && (len(s) == 1 || s[0] != '0') && (s[0] != '-' || s[1] != '0'))
}

// float parses a number of a sorted set or a hash.
func float(s string) (x float64, ok bool) {
	x, err := strconv.ParseFloat(s, 64)
	return x, (err == nil || math.IsInf(x, 0) && strings.Contains(strings.ToLower(s), "inf")) && !math.IsNaN(x) && !strings.Contains(s, "_")
}

// formatFloat formats a double as Redis does.
func formatFloat(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	return strconv.FormatFloat(x, 'g', 17, 64)
}

func double(x float64) Reply { return Reply{Kind: ReplyDouble, Text: formatFloat(x)} }

// span converts the first and the last index of a range, counted from the end if they are
// negative, to positions in n elements. The range is empty if from == to.
func span(first, last int64, n int) (from, to int) {
	size := int64(n)
	if first < 0 {
		first = max(first+size, 0)
	}
	if last < 0 {
		last += size
	}
	last = min(last, size-1)
	if first > last || first >= size {
		return 0, 0
	}
	return int(first), int(last) + 1
}
