package resp

import (
	"regexp"
	"strings"
	"time"
)

// Shape describes how a lock uses a Lua script, as far as its text shows it. Code that judges a lock
// by its traffic uses it.
type Shape struct {
	Kind     string // as in a vote's command; empty: the script does not concern a lock
	Token    int    // number of the argument (ARGV) that is the token, from 1; 0: unknown
	Compares bool   // it acts only on a value that it compared with an argument, or on the owner's entry
	NoTTL    bool   // it never sets a TTL
	script   script
}

// ReadShape reads the text of a script.
func ReadShape(text string) Shape {
	s := readScript(text)
	shape := Shape{Kind: s.kind, Token: s.token, script: s}
	text = luaComment.ReplaceAllString(text, "")
	locals := map[string]bool{}
	for _, m := range luaLocal.FindAllStringSubmatch(text, -1) {
		locals[m[1]] = true
	}
	if m := luaUnpack.FindStringSubmatch(text); m != nil {
		for name := range strings.SplitSeq(m[1], ",") {
			locals[strings.TrimSpace(name)] = true
		}
	}
	reads, expires, misplaced := false, false, false
	for _, c := range luaCalls(text) {
		switch c.name {
		case "get", "hget", "zscore", "hexists", "sismember", "zrangebyscore", "zrange":
			reads = true
		case "hdel", "zrem", "srem", "delex", "delifeq": // they name the owner
			shape.Compares = true
		case "expire", "pexpire", "expireat", "pexpireat", "setex", "psetex", "zadd":
			expires = true
		}
		for _, a := range c.args {
			misplaced = misplaced || strings.Contains(a, "==") || strings.Contains(a, "~=")
			switch strings.ToLower(strings.Trim(a, `'" `)) {
			case "ex", "px", "exat", "pxat":
				expires = true
			}
		}
	}
	if reads && !misplaced {
		shape.Compares = shape.Compares || compares(text, locals)
	}
	if misplaced {
		shape.Compares = false
	}
	shape.NoTTL = !expires
	return shape
}

var luaComparison = regexp.MustCompile(`([\w.\[\]]+|\))\s*(?:==|~=)\s*([\w.]+(?:\s*\[\s*\d+\s*\])?)`)

// luaCondition matches a test for an owner's entry in a hash or set: such a script need not compare
// texts.
var luaCondition = regexp.MustCompile(`(?i)['"](?:hexists|sismember|zscore)['"]\s*,\s*KEYS[^)]*(?:ARGV|\w)`)

// compares reports whether a script compares a value with an argument.
func compares(text string, locals map[string]bool) bool {
	if luaCondition.MatchString(text) {
		return true
	}
	for _, m := range luaComparison.FindAllStringSubmatch(text, -1) {
		for _, side := range m[1:] {
			if strings.HasPrefix(side, "ARGV") || locals[side] {
				return true
			}
		}
	}
	return false
}

// TTL returns the TTL among a call's arguments (ARGV); 0: unknown.
func (s Shape) TTL(argv []string, now time.Time) time.Duration {
	if s.script.ttl == 0 {
		return 0
	}
	return lifetime(arg(argv, s.script.ttl-1), s.script.unit, now)
}

// Yes reports whether a reply means that the script succeeded.
func (s Shape) Yes(r *Reply) bool {
	if s.script.inverted {
		return r.Null
	}
	return succeeded(r)
}

// SetTTL returns the TTL among the options of a SET; 0: none.
func SetTTL(args []string, now time.Time) time.Duration {
	for i := 3; i+1 < len(args); i++ {
		if u, ok := setUnit(args[i]); ok {
			return lifetime(args[i+1], u, now)
		}
	}
	return 0
}

// TTL returns the TTL that an argument of a command such as PEXPIRE or SETEX sets; 0: none.
func TTL(command, text string, now time.Time) time.Duration {
	return lifetime(text, unitOf(command), now)
}

// Succeeded reports whether a reply means that a command succeeded.
func Succeeded(r *Reply) bool { return succeeded(r) }
