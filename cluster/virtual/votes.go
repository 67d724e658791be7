package virtual

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"lockpick/cluster"
	"lockpick/redlock"
)

// Observe calls f with a vote for each lock command on the connection, before the client reads
// the reply. It guesses which commands belong to a lock: SET NX, SETNX and scripts that create a
// key acquire it, scripts and commands that set a TTL extend it, and DEL and scripts that delete
// release it. The guess suffices to show which faults hit a lock; no verdict depends on it.
// Observe reports whether the connection is one of this package.
func Observe(connection any, f func(redlock.Vote)) bool {
	return Follow(connection, func(x cluster.Exchange) {
		if v, ok := vote(x); ok {
			v.Master = x.Master
			f(v)
		}
	})
}

// texts holds the scripts that were sent so far, by SHA-1.
var texts sync.Map

// vote returns the vote of an exchange. ok is false if the exchange does not concern a lock.
func vote(x cluster.Exchange) (v redlock.Vote, ok bool) {
	v = redlock.Vote{Took: x.Answered.Sub(x.Sent)}
	reply := string(x.Reply)
	if x.Reply == nil {
		v.Err = os.ErrDeadlineExceeded
	} else if text, failed := strings.CutPrefix(reply, "-"); failed {
		v.Err = errors.New(strings.TrimSpace(text))
	}
	w := x.Args
	positive := strings.HasPrefix(reply, ":") && !strings.HasPrefix(reply, ":0") && !strings.HasPrefix(reply, ":-")
	switch name := strings.ToLower(w[0]); {
	case name == "set" && len(w) > 3 && slices.ContainsFunc(w[3:], func(o string) bool { return strings.EqualFold(o, "nx") }):
		v.Kind, v.Key, v.Token, v.Yes = redlock.Set, w[1], w[2], strings.HasPrefix(reply, "+OK")
	case name == "setnx" && len(w) == 3:
		v.Kind, v.Key, v.Token, v.Yes = redlock.Set, w[1], w[2], positive
	case (name == "pexpire" || name == "expire") && len(w) > 2:
		v.Kind, v.Key, v.Yes = redlock.Extend, w[1], positive
	case (name == "del" || name == "unlink") && len(w) == 2:
		v.Kind, v.Key, v.Yes = redlock.Release, w[1], positive
	case (name == "eval" || name == "evalsha") && len(w) > 3:
		if n, err := strconv.Atoi(w[2]); err != nil || n < 1 || len(w) < 3+n {
			return v, false
		} else if len(w) > 3+n {
			v.Token = w[3+n]
		}
		v.Key, v.Kind, v.Yes = w[3], kindOf(w[1]), len(x.Changes) > 0
	default:
		return v, false
	}
	return v, true
}

// kindOf guesses the kind of a script, which is given by its text or its hash.
func kindOf(script string) redlock.Kind {
	if text, known := texts.Load(strings.ToLower(script)); known {
		script = text.(string)
	}
	script = strings.ToLower(script)
	switch {
	case strings.Contains(script, `"set"`), strings.Contains(script, `'set'`), strings.Contains(script, "hset"), strings.Contains(script, "setnx"), strings.Contains(script, "hincrby"):
		return redlock.Set
	case strings.Contains(script, "expire"):
		return redlock.Extend
	}
	return redlock.Release
}
