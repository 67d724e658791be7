package watch

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/cluster/resp"
)

// action is the effect of a command on a lock.
type action uint8

const (
	none action = iota
	acquire
	extend
	release
	read
)

// step is a command on a key that may be a lock's, with its reply.
type step struct {
	action   action
	master   int
	conn     int64
	name     string // the command's name, in lower case
	key      string // as it was sent
	token    string // hashed; empty: the command has none
	ttl      time.Duration
	lifeless bool // the script sets no lifetime
	compares bool // it acts only if the key stores the given token
	fails    bool // it is a script that always ends with an error
	script   bool
	yes      bool
	known    bool // there was a reply other than an error
	noscript bool
	sha      string
	failed   string // the code of the error that it was answered with, such as READONLY; empty: there was none
	sent, at time.Duration

	mask    *masker
	args    []string // valid during the call, like those of the exchange (clone)
	tokenAt int      // position of the token in args; 0: there is none
	answer  string   // the reply without its values
	unheard bool     // the log has no replies
}

// clone returns the step for use after the call.
func (s step) clone() step {
	s.args = slices.Clone(s.args)
	return s
}

// wants reports whether a command may be about a lock. The reader drops other commands before it
// keeps them.
func (l *Lint) wants(name []byte, args []resp.Value) bool {
	l.commands++
	switch string(name) {
	case "set":
		if len(args) < 3 || args[2].Cut {
			return false
		}
		for _, a := range args[3:] {
			if o := string(a.Text); strings.EqualFold(o, "nx") {
				return l.candidate(args[1])
			}
		}
		return l.cells[string(args[1].Text)] != nil
	case "setnx":
		return len(args) > 2 && !args[2].Cut && l.candidate(args[1])
	case "get", "getdel", "del", "unlink", "expire", "pexpire", "expireat", "pexpireat", "delex", "delifeq":
		return len(args) > 1 && l.cells[string(args[1].Text)] != nil
	case "eval", "evalsha":
		return len(args) > 3 && !args[1].Cut && !args[3].Cut
	case "script", "watch", "wait":
		return true
	}
	return false
}

// maxCells is the maximum number of keys that are followed.
const maxCells = 100_000

// candidate follows a key that a client creates only if it does not exist, and reports whether it
// does.
func (l *Lint) candidate(key resp.Value) bool {
	if key.Cut {
		return false
	}
	return l.cell(string(key.Text)) != nil
}

// classify determines the effect of a command. ok is false if the command is not about a lock.
func (l *Lint) classify(master int, conn int64, x *resp.Exchange) (s step, ok bool) {
	a := x.Args
	s = step{master: master, conn: conn, name: strings.ToLower(a[0]), sent: x.Sent.Sub(l.start), at: x.Answered.Sub(l.start)}
	r := x.Reply
	s.known = r != nil && r.Type != '-' && r.Type != '!'
	s.failed = errorCode(r)
	s.noscript = s.failed == "NOSCRIPT"
	tokenAt := 0
	succeeded := resp.Succeeded
	if len(a) > 1 {
		s.key = a[1]
	}
	switch s.name {
	case "setnx":
		s.action, tokenAt = acquire, 2
	case "set":
		tokenAt, s.action, s.ttl = 2, none, resp.TTL(a, x.Sent)
		gets := false
		for _, o := range a[min(3, len(a)):] {
			switch strings.ToLower(o) {
			case "nx":
				s.action = acquire
			case "xx":
				s.action = extend
			case "get":
				gets = true
			}
		}
		if gets && s.action == acquire {
			succeeded = func(r *resp.Reply) bool { return r.Null }
		}
		if s.action == none { // it overwrites any stored value
			s.action = extend
		}
	case "get":
		s.action = read
	case "del", "unlink":
		s.action = release
	case "getdel":
		s.action = release
		succeeded = func(r *resp.Reply) bool { return !r.Null }
	case "delex", "delifeq":
		s.action, s.compares = release, true
		tokenAt = len(a) - 1
	case "expire", "pexpire", "expireat", "pexpireat":
		s.action, s.ttl = extend, resp.TTL(a, x.Sent)
	case "eval", "evalsha":
		keys, err := strconv.Atoi(a[2])
		if err != nil || keys < 1 || 3+keys > len(a) {
			return s, false
		}
		argv := a[3+keys:]
		script := l.scripts.called(s.name, a[1], a[3:3+keys], argv, x.Sent)
		s.script, s.key = true, a[3]
		if s.name == "evalsha" {
			s.sha = strings.ToLower(a[1])
		} else if script != nil {
			s.sha = script.sha
		}
		if !s.noscript {
			l.sentScript(&s, argv)
		}
		switch {
		case script != nil:
			s.action, s.sha, s.fails = script.action, script.sha, script.fails
		case s.noscript:
			script = &observed{}
		default:
			l.unknownScripts++
			if c := l.cells[s.key]; c != nil {
				c.scripted++
			}
			return s, false
		}
		if s.noscript {
			s.action = l.byToken(&s, argv)
		}
		if s.action == none {
			return s, false
		}
		s.compares, s.ttl, s.lifeless = script.compares, script.ttl(argv, x.Sent), script.lifeless
		tokenAt = l.scriptToken(script.token, s.key, 3+keys, a)
		succeeded = script.yes
		if s.action == acquire && l.cell(s.key) == nil {
			return s, false
		}
	default:
		return s, false
	}
	s.mask, s.args, s.answer = l.mask, a, answer(r)
	if tokenAt > 0 && tokenAt < len(a) {
		s.token, s.tokenAt = l.mask.token(a[tokenAt]), tokenAt
	}
	s.yes = s.known && succeeded(r)
	return s, s.action != none && s.key != ""
}

// scriptToken finds the position of the token among a script call's arguments: an argument that is a
// known token of the key, else the argument that the script compares or stores, else the first
// argument that is not a number.
func (l *Lint) scriptToken(number int, key string, first int, args []string) int {
	if c := l.cells[key]; c != nil {
		for i := first; i < len(args); i++ {
			if h := l.mask.token(args[i]); c.knows(h) {
				return i
			}
		}
	}
	if i := first + number - 1; number > 0 && i < len(args) {
		return i
	}
	for i := first; i < len(args); i++ {
		if strings.Trim(args[i], "0123456789.-") != "" {
			return i
		}
	}
	return 0
}

// byToken guesses the effect of a script whose text is unknown: if an argument is a known token of
// the key, it is taken as a release.
func (l *Lint) byToken(s *step, argv []string) action {
	c := l.cells[s.key]
	if c == nil {
		return none
	}
	for _, a := range argv {
		if c.knows(l.mask.token(a)) {
			return release
		}
	}
	return none
}
