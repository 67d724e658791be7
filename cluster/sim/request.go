package sim

import (
	"fmt"
	"strconv"

	"lockpick/redlock"
)

// request is one command in the form in which masters carry it out. It is made once
// for all masters that it is sent to.
type request struct {
	name   string // in lower case; "" for a script run by its hash
	args   []string
	script *redlock.Script // instead of name: EVALSHA, and EVAL where that is not known
	keys   []string        // of the script
	twin   Script          // of the script; nil: there is none
	plain  *command        // of that name; nil: there is none
	ttl    int64           // ms, if it is SET key token NX PX ttl; 0: it is not
	size   int64           // bytes on the wire

	room [8]string // for args
}

// read makes the request of a lock command.
func (r *request) read(cmd *redlock.Command) {
	r.args = r.room[:0]
	if r.plain = nil; r.script != cmd.Script {
		if r.script, r.twin = cmd.Script, nil; cmd.Script != nil {
			r.twin = twin(cmd.Script.SHA)
		}
	}
	r.keys, r.name, r.size, r.ttl = cmd.Keys, "", 4, 0
	for _, a := range cmd.Args {
		s := argument(a)
		r.size += int64(len(s)) + 6
		r.args = append(r.args, s)
	}
	if cmd.Script != nil {
		r.size += 60
		for _, k := range cmd.Keys {
			r.size += int64(len(k)) + 6
		}
		return
	}
	if len(r.args) > 0 {
		r.name, r.args = r.args[0], r.args[1:]
		r.plain = commands[r.name]
		r.ttl = ttlOf(r.name, r.args)
	}
}

// ttlOf is the TTL of the SET with which locks are taken, which is most of what masters
// are asked; 0 for all else.
func ttlOf(name string, args []string) int64 {
	if name != "set" || len(args) != 5 || args[2] != "nx" || args[3] != "px" || len(args[4]) >= 15 {
		return 0
	}
	n, err := strconv.ParseInt(args[4], 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// argument is how a client library writes an argument.
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
