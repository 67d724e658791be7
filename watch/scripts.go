package watch

import (
	"strings"
	"time"

	"lockpick/cluster/lua"
)

// scripts holds the observed Lua scripts and what they do, by SHA-1.
type scripts struct {
	bySHA map[string]*observed
	// The last text and its script, to avoid hashing it again.
	text   string
	latest *observed
}

// observed is a script; what it does is known from its first call on.
type observed struct {
	sha    string
	script *lua.Script // nil: it does not compile
	tried  bool
	shape
}

// maxScripts is the number of scripts that are kept.
const maxScripts = 10_000

// learn returns a script with a text, and keeps it; nil if there are too many.
func (s *scripts) learn(text string) *observed {
	if text == s.text && s.latest != nil {
		return s.latest
	}
	sha := lua.SHA(text)
	o := s.bySHA[sha]
	if o == nil {
		if len(s.bySHA) >= maxScripts {
			return nil
		}
		o = &observed{sha: sha}
		o.script, _ = lua.Compile(text) // the server says what is wrong with it
		if s.bySHA == nil {
			s.bySHA = map[string]*observed{}
		}
		s.bySHA[sha] = o
	}
	s.text, s.latest = text, o
	return o
}

// called returns the script that EVAL or EVALSHA calls; nil if its text was never seen.
func (s *scripts) called(command, script string, keys, argv []string, now time.Time) *observed {
	var o *observed
	if command == "eval" {
		o = s.learn(script)
	} else {
		o = s.bySHA[strings.ToLower(script)]
	}
	if o != nil && !o.tried {
		o.tried = true
		if o.script != nil {
			o.shape = tried(o.script, keys, argv, now)
		}
	}
	return o
}
