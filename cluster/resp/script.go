package resp

import (
	"regexp"
	"strconv"
	"strings"

	"lockpick/history"
)

// script describes the effect of a Lua script on a lock, as far as its text shows it. The script is parsed, never
// run: its calls of Redis, and the arguments that they use.
type script struct {
	kind  string // as in a vote's command; empty: the script does not concern a lock
	token int    // number of the argument (ARGV) that is the token, from 1; 0: unknown
	ttl   int    // number of the argument that is the TTL; 0: unknown
	unit  unit   // unit of the TTL
	// inverted reports whether nil means that the lock was granted, and a number is the remaining TTL of another holder's
	// lock, as in Redisson.
	inverted bool
}

// unit is the unit of a TTL.
type unit uint8

const (
	milliseconds unit = iota
	seconds
	atMilliseconds // ms since 1970
	atSeconds
)

var (
	luaCall    = regexp.MustCompile(`(?i)redis\s*\.\s*p?call\s*\(\s*['"](\w+)['"]`)
	luaLocal   = regexp.MustCompile(`local\s+(\w+)\s*=\s*(?:tonumber\s*\(\s*|tostring\s*\(\s*)?ARGV\s*\[\s*(\d+)\s*\]`)
	luaUnpack  = regexp.MustCompile(`local\s+([\w\s,]+?)\s*=\s*(?:table\s*\.\s*)?unpack\s*\(\s*ARGV\s*\)`)
	luaKey     = regexp.MustCompile(`local\s+(\w+)\s*=\s*KEYS\s*\[\s*(\d+)\s*\]`)
	luaEachKey = regexp.MustCompile(`for\s+\w+\s*,\s*(\w+)\s+in\s+ipairs\s*\(\s*KEYS\s*\)`)
	luaKeyArg  = regexp.MustCompile(`^KEYS\s*\[\s*(\d+)\s*\]$`)
	luaArg     = regexp.MustCompile(`ARGV\s*\[\s*(\d+)\s*\]`)
	luaEqual   = regexp.MustCompile(`(?:==|~=)\s*ARGV\s*\[\s*(\d+)\s*\]|ARGV\s*\[\s*(\d+)\s*\]\s*(?:==|~=)\s*(?:redis|\w+\b)`)
	luaNames   = regexp.MustCompile(`[A-Za-z_]\w*`)
	luaPTTL    = regexp.MustCompile(`(?i)return\s+redis\s*\.\s*p?call\s*\(\s*['"]pttl['"]`)
	luaComment = regexp.MustCompile(`--[^\n]*`)
)

// luaCommand is a call of Redis in a script: the command and the texts of its arguments, the key first.
type luaCommand struct {
	name string
	args []string
}

// onFirstKey reports whether a call concerns the script's first key, which is the lock's. Other keys are counters,
// queues and channels. A computed key may be the lock's.
func (c *luaCommand) onFirstKey(locals map[string]string) bool {
	if len(c.args) == 0 {
		return false
	}
	if m := luaKeyArg.FindStringSubmatch(c.args[0]); m != nil {
		return m[1] == "1"
	}
	number, known := locals[c.args[0]]
	return !known || number == "1"
}

// readScript reads the text of a Lua script.
func readScript(text string) script {
	text = luaComment.ReplaceAllString(text, "")
	locals := map[string]int{}
	for _, m := range luaLocal.FindAllStringSubmatch(text, -1) {
		locals[m[1]], _ = strconv.Atoi(m[2])
	}
	if m := luaUnpack.FindStringSubmatch(text); m != nil {
		for i, name := range strings.Split(m[1], ",") {
			locals[strings.TrimSpace(name)] = i + 1
		}
	}
	keys := map[string]string{}
	for _, m := range luaKey.FindAllStringSubmatch(text, -1) {
		keys[m[1]] = m[2]
	}
	for _, m := range luaEachKey.FindAllStringSubmatch(text, -1) {
		keys[m[1]] = "1"
	}
	var s script
	var sets, deletes, expires, reads bool
	for _, c := range luaCalls(text) {
		if !c.onFirstKey(keys) {
			continue
		}
		arg := func(i int) int {
			if i < len(c.args) {
				return argument(c.args[i], locals)
			}
			return 0
		}
		exact := func(i int) int { // for a TTL to which nothing is added
			if i < len(c.args) && !computed(c.args[i], text) {
				return arg(i)
			}
			return 0
		}
		token := 0
		switch c.name {
		case "set":
			sets, token = true, arg(1)
			s.lifetimeOfSet(c.args, locals)
		case "setnx", "getset":
			sets, token = true, arg(1)
		case "psetex", "setex":
			sets, token = true, arg(2)
			s.lifetime(exact(1), unitOf(c.name))
		case "hset", "hsetnx", "hmset":
			sets, token = true, arg(1)
		case "hincrby":
			if len(c.args) > 2 && strings.HasPrefix(strings.Trim(c.args[2], `'" `), "-") {
				deletes = true
			} else {
				sets = true
			}
			token = arg(1)
		case "zadd":
			sets, token = true, arg(2)
			s.lifetime(arg(1), milliseconds)
		case "sadd":
			sets, token = true, arg(1)
		case "del", "unlink":
			deletes = true
		case "delex":
			deletes, token = true, arg(2)
		case "hdel", "zrem", "srem":
			deletes, token = true, arg(1)
		case "hexists", "zscore", "sismember":
			reads, token = true, arg(1)
		case "get":
			reads = true
		case "pexpire", "expire", "pexpireat", "expireat":
			expires = true
			s.lifetime(exact(1), unitOf(c.name))
		}
		if s.token == 0 {
			s.token = token
		}
	}
	if s.token == 0 {
		for _, m := range luaEqual.FindAllStringSubmatch(text, -1) {
			for _, n := range m[1:] {
				if n != "" && s.token == 0 {
					s.token, _ = strconv.Atoi(n)
				}
			}
		}
	}
	switch { // a script that acquires may also remove expired entries
	case sets:
		s.kind = history.CommandSet
	case deletes:
		s.kind = history.CommandRelease
	case expires:
		s.kind = history.CommandExtend
	case reads:
		s.kind = history.CommandRead
	}
	if s.kind == history.CommandRelease || s.kind == history.CommandRead {
		s.ttl = 0
	}
	s.inverted = luaPTTL.MatchString(text) && s.kind == history.CommandSet
	return s
}

// lifetime records which argument is the TTL, if the first such call contains one.
func (s *script) lifetime(arg int, u unit) {
	if s.ttl == 0 && arg != 0 {
		s.ttl, s.unit = arg, u
	}
}

// lifetimeOfSet finds the TTL among the options of a SET.
func (s *script) lifetimeOfSet(args []string, locals map[string]int) {
	for i := 2; i+1 < len(args); i++ {
		if u, ok := setUnit(strings.Trim(args[i], `'" `)); ok {
			s.lifetime(argument(args[i+1], locals), u)
		}
	}
}

// setUnit returns the unit of an option of SET that sets a TTL.
func setUnit(option string) (u unit, ok bool) {
	switch len(option) {
	case len("px"):
		if option[1]|0x20 != 'x' {
			return 0, false
		}
		switch option[0] | 0x20 {
		case 'p':
			return milliseconds, true
		case 'e':
			return seconds, true
		}
	case len("pxat"):
		switch {
		case strings.EqualFold(option, "pxat"):
			return atMilliseconds, true
		case strings.EqualFold(option, "exat"):
			return atSeconds, true
		}
	}
	return 0, false
}

func unitOf(command string) unit {
	switch command {
	case "expire", "setex":
		return seconds
	case "expireat":
		return atSeconds
	case "pexpireat":
		return atMilliseconds
	}
	return milliseconds
}

// argument returns the number of the argument (ARGV) that an expression uses, directly or
// through a local variable; 0: none.
func argument(expression string, locals map[string]int) int {
	if m := luaArg.FindStringSubmatch(expression); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	for _, name := range luaNames.FindAllString(expression, -1) {
		if n, ok := locals[name]; ok {
			return n
		}
	}
	return 0
}

// computed reports whether an expression computes its value, or is a variable that is set more than once.
func computed(expression, text string) bool {
	names := luaNames.FindAllString(expression, -1)
	if strings.ContainsAny(expression, "+*/-") || len(names) == 0 {
		return true
	}
	name := names[len(names)-1]
	if name == "ARGV" {
		return false
	}
	return len(regexp.MustCompile(`\b`+name+`\s*=[^=]`).FindAllString(text, 2)) > 1
}

// luaCalls finds the calls of Redis in a script.
func luaCalls(text string) []luaCommand {
	var calls []luaCommand
	for _, m := range luaCall.FindAllStringSubmatchIndex(text, -1) {
		calls = append(calls, luaCommand{strings.ToLower(text[m[2]:m[3]]), luaArguments(text[m[1]:])})
	}
	return calls
}

// luaArguments splits the text after a call's first argument, up to the closing parenthesis.
func luaArguments(text string) []string {
	var args []string
	depth, from := 0, -1
	var quote byte
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case depth > 0 && (c == ')' || c == ']' || c == '}'):
			depth--
		case c == ')' || c == ',' && depth == 0:
			if from >= 0 {
				args = append(args, strings.TrimSpace(text[from:i]))
			}
			if c == ')' {
				return args
			}
			from = i + 1
		}
	}
	return args
}
