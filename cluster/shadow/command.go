package shadow

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"lockpick/cluster/keyspace"
	"lockpick/cluster/resp"
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
	keys   *keys
	events []event

	ran     bool
	runs    [2]keyspace.Store // the strings after the command; they differ where they depend on what is not certain
	guessed bool              // something is not certain
	lost    bool              // the command has read a key of which nothing is known, or is not followed
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
		var ok bool
		if e.deadline, ok = c.deadline(p); !ok {
			e.doubt = c.unknown("deadline")
		}
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
	text, ok := c.text(p)
	switch {
	case !ok:
		e.kind, e.text, e.doubt = "string", "", cmp.Or(e.doubt, c.unknown("value"))
	case len(text) > maxText:
		*e = entry{kind: "string", deadline: e.deadline, doubt: "the value is longer than 64 KB"}
	case what == "set":
		*e = entry{kind: "string", text: text}
		if e.deadline, ok = c.deadline(p); !ok {
			e.doubt = c.unknown("deadline")
		}
	default:
		e.kind, e.text = "string", text
	}
}

// text returns the string that a key stores after the command.
func (c *command) text(p place) (text string, ok bool) {
	a, b, ok := c.after(p)
	return a.Text, ok && a.Text == b.Text
}

// deadline returns the deadline of a key after the command, in ms of the master's clock; 0: none.
func (c *command) deadline(p place) (at int64, ok bool) {
	a, b, ok := c.after(p)
	if ok && a.Expires != keyspace.Never {
		at = a.Expires
	}
	return at, ok && a.Expires == b.Expires
}

// after returns what a key stores after both runs of the command.
func (c *command) after(p place) (a, b keyspace.Value, ok bool) {
	if !c.ran {
		c.ran = true
		c.run()
	}
	if c.lost || p.db != c.db {
		return a, b, false
	}
	a, in := c.runs[0].Get(p.key, math.MinInt64)
	b, too := c.runs[1].Get(p.key, math.MinInt64)
	return a, b, in && too
}

// run executes the command on what the copy knows. If that is not certain, it executes the command
// once more, and then finds another string and another deadline.
func (c *command) run() {
	do := keyspace.Find(c.name)
	if do == nil || !do.Accepts(len(c.args)-1) || c.widens() || c.name == "incrbyfloat" { // whose digits depend on the server's processor
		c.lost = true
		return
	}
	for i := range c.runs {
		if i > 0 && !c.guessed {
			c.runs[i] = c.runs[0]
			break
		}
		s := &c.runs[i]
		*s = keyspace.NewStore(func(string, keyspace.Value, bool) {})
		s.Intn = func(int) int { return 0 }
		seen := map[string]bool{}
		s.Read = func(key string) {
			if !seen[key] {
				seen[key] = true
				c.load(s, key, int64(i))
			}
		}
		for _, e := range c.events { // commands that write without reading
			if e.db == c.db {
				s.Read(e.key)
			}
		}
		r := do.Do(keyspace.At(s, c.time()), c.args[1:])
		s.Read = nil
		c.lost = c.lost || r.Kind == keyspace.ReplyError || r.Kind == keyspace.ReplyUnmodelled
	}
}

// time returns the time at which the command is executed on copies. A server keeps a key whose new
// deadline has passed until it expires it, but a Store removes it at once, so a command that names a
// time is executed long before that.
func (c *command) time() int64 {
	if _, u := resp.ExpiryAt(c.args); u == resp.AtSeconds || u == resp.AtMilliseconds {
		return 0
	}
	return c.now
}

// load stores what a key stored before the command: the events say whether it existed.
func (c *command) load(s *keyspace.Store, key string, run int64) {
	p := place{c.db, key}
	e, had := c.before[p]
	touched, created := false, false
	for _, x := range c.events {
		if x.place == p {
			touched, created = true, created || x.what == "new"
		}
	}
	if !touched {
		e, had = c.keys.all[p]
	}
	v := keyspace.Value{Text: e.text, Expires: keyspace.Never}
	if e.deadline != 0 {
		v.Expires = max(e.deadline, c.now) // the line is later than the command, which has found the key
	}
	switch {
	case created && !c.replaces():
		return
	case had && e.kind == "string" && e.doubt == "":
	case touched:
		c.guessed = true
		v.Text = strconv.FormatInt(run, 10)
		if !had || e.doubt != "" {
			v.Expires = c.now + 1 + run
		}
	case had || c.keys.blind != "":
		c.lost = true
		return
	default:
		return
	}
	s.Put(key, v)
}

// widens reports whether the command makes a string so long that it is not followed.
func (c *command) widens() bool {
	at, _ := strconv.ParseInt(c.arg(2), 10, 64)
	return (c.name == "setrange" || c.name == "setbit") && at > 8*maxText
}
