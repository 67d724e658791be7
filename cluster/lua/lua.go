// Package lua runs the scripts of simulated masters, with the functions that Redis provides to
// them. A script is compiled once per process, and the interpreters are reused: a search runs the
// same few scripts on thousands of masters.
package lua

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"lockpick/cluster/keyspace"
)

// Server executes the commands that a script calls.
type Server interface {
	Call(name string, args []string) keyspace.Reply
}

// Script is a compiled script.
type Script struct {
	SHA   string // SHA-1 of the text, as EVALSHA takes it
	Flags Flags

	proto *lua.FunctionProto
}

// Flags are the flags of a script's first line, such as #!lua flags=no-writes.
type Flags struct {
	Stated   bool // there is such a line
	NoWrites bool
	AllowOOM bool
}

// compiled holds the scripts that were compiled, by text.
var compiled sync.Map

// interpreters holds idle interpreters: making one takes longer than running any script of a lock.
var interpreters = sync.Pool{New: func() any { return newInterpreter() }}

// Compile compiles a script. The error is Redis's.
func Compile(text string) (*Script, error) {
	if s, ok := compiled.Load(text); ok {
		return s.(*Script), nil
	}
	s := &Script{SHA: SHA(text)}
	body, err := s.Flags.parse(text)
	if err != nil {
		return nil, err
	}
	const name = "user_script"
	chunk, err := parse.Parse(strings.NewReader(body), name)
	if err != nil {
		return nil, fmt.Errorf("ERR Error compiling script (new function): %w", err)
	}
	if s.proto, err = lua.Compile(chunk, name); err != nil {
		return nil, fmt.Errorf("ERR Error compiling script (new function): %w", err)
	}
	// A script gets no arguments besides KEYS and ARGV. The table arg of Lua 5.0 would take a
	// third of the time of a short script.
	s.proto.IsVarArg &^= lua.VarArgNeedsArg
	compiled.Store(text, s)
	return s, nil
}

// parse reads the flags in the first line of a script, and returns the script without it.
func (f *Flags) parse(text string) (body string, err error) {
	if !strings.HasPrefix(text, "#!") {
		return text, nil
	}
	line, rest, _ := strings.Cut(text, "\n")
	words := strings.Fields(line[2:])
	if len(words) == 0 || words[0] != "lua" {
		return "", fmt.Errorf("ERR Unexpected engine in script shebang: %s", strings.Join(words[:min(1, len(words))], ""))
	}
	f.Stated = true
	for _, word := range words[1:] {
		list, ok := strings.CutPrefix(word, "flags=")
		if !ok {
			return "", fmt.Errorf("ERR Unknown lua shebang option: %s", word)
		}
		for flag := range strings.SplitSeq(list, ",") {
			switch flag {
			case "no-writes":
				f.NoWrites = true
			case "allow-oom":
				f.AllowOOM = true
			case "allow-stale", "no-cluster", "allow-cross-slot-keys", "":
			default:
				return "", fmt.Errorf("ERR Unexpected flag in script shebang: %s", flag)
			}
		}
	}
	return "\n" + rest, nil
}

// SHA returns the SHA-1 of a script's text.
func SHA(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Run executes the script and returns its reply.
func (s *Script) Run(server Server, keys, args []string) keyspace.Reply {
	in := interpreters.Get().(*interpreter)
	r := in.run(server, s, keys, args)
	interpreters.Put(in)
	return r
}
