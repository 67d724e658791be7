package shadow

import (
	"math"
	"strconv"
	"strings"
)

// maxText limits the strings that are followed, in bytes.
const maxText = 64 << 10

// command is a command whose effect on keys is followed. Its events say which keys it has changed,
// so that only values and deadlines follow from the arguments.
type command struct {
	name   string // in lower case
	args   []string
	db     int
	now    int64           // ms of the master's clock
	before map[place]entry // the keys that it has changed or read
}

func (c *command) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// moves reports whether the command gives a key what another one stores.
func (c *command) moves() bool {
	return c.name == "rename" || c.name == "renamenx" || c.name == "copy" || c.name == "move"
}

// replaces reports whether the event "new" may come for a key that exists.
func (c *command) replaces() bool { return c.moves() || c.name == "restore" }

// typeOf maps events to the type of a key that had this event.
var typeOf = map[string]string{}

func init() {
	for kind, events := range map[string]string{
		"string": "set setrange incrby incrbyfloat append setbit pfadd",
		"hash":   "hset hincrby hincrbyfloat hdel",
		"list":   "lpush rpush lpop rpop linsert lset lrem ltrim sortstore",
		"set":    "sadd srem spop sinterstore sunionstore sdiffstore",
		"zset":   "zadd zincr zrem zremrangebyscore zremrangebyrank zremrangebylex zpopmin zpopmax zinterstore zunionstore zdiffstore zrangestore geosearchstore georadiusstore",
		"stream": "xadd xdel xtrim xsetid xgroup-create xgroup-createconsumer xgroup-delconsumer xgroup-destroy xgroup-setid xclaim xautoclaim",
	} {
		for _, e := range strings.Fields(events) {
			typeOf[e] = kind
		}
	}
}

// apply applies an event of the command to a key.
func (c *command) apply(e *entry, p place, what string) {
	switch kind := typeOf[what]; {
	case what == "expire":
		at, ok := c.deadline()
		if !ok {
			e.doubt = c.unknown("deadline")
		}
		e.deadline = at
	case what == "persist":
		e.deadline = 0
	case what == "rename_to" || what == "copy_to" || what == "move_to":
		from, ok := c.before[place{c.db, c.arg(1)}]
		if !ok || !c.moves() {
			from = entry{doubt: c.unknown("value")}
		}
		*e = from
	case kind == "string":
		c.write(e, p, what)
	case kind == "":
		*e = entry{doubt: c.unknown("value")}
	case strings.HasSuffix(what, "store"): // it replaces the key
		*e = entry{kind: kind}
	default:
		if e.kind != kind && e.kind != "" && e.doubt == "" {
			e.doubt = "the event " + what + " contradicts the account, in which the key was a " + e.kind
		}
		e.kind = kind
	}
}

func (c *command) unknown(what string) string {
	return "the " + what + " after " + strings.ToUpper(c.name) + " is not followed"
}

// write applies an event that leaves a string.
func (c *command) write(e *entry, p place, what string) {
	text, ok := c.text(e.text, p)
	if len(text) > maxText {
		*e = entry{kind: "string", deadline: e.deadline, doubt: "the value is longer than 64 KB"}
		return
	}
	switch {
	case what == "set" && ok:
		keep := c.name == "set" && c.option("keepttl") > 0
		*e = entry{kind: "string", text: text, deadline: e.deadline, doubt: e.doubt}
		if !keep {
			e.deadline, e.doubt = 0, ""
		}
	case ok && (e.kind == "string" || e.kind == "" && e.doubt == ""):
		e.kind, e.text = "string", text
	default:
		e.kind, e.text, e.doubt = "string", "", c.unknown("value")
	}
}

// text returns the string that the key stores after the command.
func (c *command) text(old string, p place) (text string, ok bool) {
	switch c.name {
	case "set", "setnx", "getset":
		return c.arg(2), true
	case "setex", "psetex":
		return c.arg(3), true
	case "mset", "msetnx":
		for i := 1; i+1 < len(c.args); i += 2 {
			if c.args[i] == p.key {
				text, ok = c.args[i+1], true
			}
		}
		return text, ok
	case "append":
		return old + c.arg(2), true
	case "incr":
		return add(old, "1", 1)
	case "decr":
		return add(old, "1", -1)
	case "incrby":
		return add(old, c.arg(2), 1)
	case "decrby":
		return add(old, c.arg(2), -1)
	case "setrange":
		at, err := strconv.Atoi(c.arg(2))
		if err != nil || at < 0 || at > maxText {
			return "", false
		}
		b := []byte(old)
		if end := at + len(c.arg(3)); end > len(b) {
			b = append(b, make([]byte, end-len(b))...)
		}
		copy(b[at:], c.arg(3))
		return string(b), true
	}
	return "", false
}

// add returns the sum of two numbers of Redis.
func add(old, by string, sign int64) (string, bool) {
	if old == "" {
		old = "0"
	}
	a, err1 := strconv.ParseInt(old, 10, 64)
	b, err2 := strconv.ParseInt(by, 10, 64)
	return strconv.FormatInt(a+sign*b, 10), err1 == nil && err2 == nil
}

// option returns the index of an option of SET or GETEX; 0: it is absent.
func (c *command) option(name string) int {
	from := map[string]int{"set": 3, "getex": 2}[c.name]
	for i := from; i > 0 && i < len(c.args); i++ {
		if strings.EqualFold(c.args[i], name) {
			return i
		}
		if spans[strings.ToLower(c.args[i])].unit > 0 {
			i++ // its number
		}
	}
	return 0
}

// span is how an option or a command gives a deadline.
type span struct {
	unit     int64 // ms
	absolute bool
}

// spans maps options of SET and GETEX, and commands, to their way to give a deadline.
var spans = map[string]span{
	"ex": {1000, false}, "px": {1, false}, "exat": {1000, true}, "pxat": {1, true},
	"setex": {1000, false}, "psetex": {1, false},
	"expire": {1000, false}, "pexpire": {1, false}, "expireat": {1000, true}, "pexpireat": {1, true},
}

// deadline returns the deadline that the command gives a key, in ms of the master's clock.
func (c *command) deadline() (at int64, ok bool) {
	s, number := spans[c.name], c.arg(2)
	if c.name == "set" || c.name == "getex" {
		for _, option := range []string{"ex", "px", "exat", "pxat"} {
			if i := c.option(option); i > 0 {
				s, number = spans[option], c.arg(i+1)
			}
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || s.unit == 0 || n > math.MaxInt64/s.unit || n < math.MinInt64/s.unit {
		return 0, false
	}
	if n *= s.unit; s.absolute {
		return n, true
	}
	if n > math.MaxInt64-c.now {
		return 0, false
	}
	return n + c.now, true
}
