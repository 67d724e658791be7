package sim

import (
	"fmt"
	"strconv"

	"lockpick/cluster/lua"
	"lockpick/redlock/protocol"
)

// request is one command in the form in which masters execute it. All masters that get the
// command share it.
type request struct {
	name     string // in lower case; "" for a script run by its hash
	args     []string
	script   *protocol.Script // instead of name: EVALSHA, and EVAL on masters that do not know the script
	keys     []string         // keys of the script
	compiled *lua.Script      // nil: Redis refuses to compile it
	refused  error            // why it does
	plain    *command         // the command with that name; nil: there is none
	ttl      int64            // ms, if the command is SET key token NX PX ttl; otherwise 0
	size     int64            // length of the encoded command in bytes

	room  [8]string // memory for args
	key   [1]string // memory for keys
	known known
}

// known caches the script, the command and the number of the latest requests, because the next
// ones will need them, too.
type known struct {
	script   *protocol.Script
	compiled *lua.Script
	refused  error
	name     string
	command  *command
	number   int64
	digits   string // number as text
}

// read makes the request of a lock command.
func (r *request) read(cmd *protocol.Command) {
	r.args, r.script, r.keys = r.room[:0], cmd.Script, cmd.Keys
	r.name, r.plain, r.size, r.ttl = "", nil, 4, 0
	k := &r.known
	if cmd.Keys == nil && cmd.Args == nil {
		r.readShort(cmd)
		return
	}
	for _, a := range cmd.Args {
		s := k.argument(a)
		r.size += int64(len(s)) + 6
		r.args = append(r.args, s)
	}
	if cmd.Script != nil {
		r.runs(cmd.Script)
		r.size += 60
		for _, k := range cmd.Keys {
			r.size += int64(len(k)) + 6
		}
		return
	}
	if len(r.args) > 0 {
		r.name, r.args = r.args[0], r.args[1:]
		r.plain = k.named(r.name)
		r.ttl = k.ttl(r.name, r.args)
	}
}

// readShort makes the request of a command in the short form.
func (r *request) readShort(cmd *protocol.Command) {
	k := &r.known
	words := int64(len(cmd.Key) + len(cmd.Token))
	if cmd.Script != nil {
		r.key[0] = cmd.Key
		r.keys, r.args = r.key[:], append(r.args, cmd.Token)
		r.runs(cmd.Script)
		r.size += 60 + words + 2*6
		return
	}
	r.args = append(r.args, cmd.Key, cmd.Token, "nx", "px", k.argument(cmd.TTL))
	r.name, r.plain = "set", k.named("set")
	if r.ttl = max(cmd.TTL, 0); len(k.digits) >= longTTL {
		r.ttl = 0
	}
	r.size += words + int64(len("set")+len("nx")+len("px")+len(k.digits)) + 6*6
}

func (r *request) runs(s *protocol.Script) {
	k := &r.known
	if k.script != s {
		k.script = s
		k.compiled, k.refused = lua.Compile(s.Text)
	}
	r.compiled, r.refused = k.compiled, k.refused
}

func (k *known) named(name string) *command {
	if k.name != name {
		k.name = name
		k.command, _ = lookUp(name)
	}
	return k.command
}

// longTTL is the number of digits from which on a TTL may exceed the range of times.
const longTTL = 15

// ttl returns the TTL of the SET that acquires locks, which is the most frequent command; 0 for
// all other commands.
func (k *known) ttl(name string, args []string) int64 {
	if name != "set" || len(args) != 5 || args[2] != "nx" || args[3] != "px" || len(args[4]) >= longTTL {
		return 0
	}
	if args[4] == k.digits {
		return max(k.number, 0)
	}
	n, err := strconv.ParseInt(args[4], 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// argument formats a number, and caches the result for numbers that occur often.
func (k *known) argument(a any) string {
	switch a := a.(type) {
	case string:
		return a
	case int64:
		if k.digits == "" || k.number != a {
			k.number, k.digits = a, strconv.FormatInt(a, 10)
		}
		return k.digits
	}
	return argument(a)
}

// argument formats an argument as a client library does.
func argument(a any) string {
	switch a := a.(type) {
	case string:
		return a
	case int64:
		return strconv.FormatInt(a, 10)
	case int:
		return strconv.Itoa(a)
	case []byte:
		return string(a)
	case bool:
		if a {
			return "1"
		}
		return "0"
	case float64:
		return strconv.FormatFloat(a, 'f', -1, 64)
	}
	return fmt.Sprint(a)
}
