package lua

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"lockpick/cluster/keyspace"
)

// interpreter is a Lua state with the functions that Redis provides to scripts.
type interpreter struct {
	state  *lua.LState
	server Server
	closed map[*Script]*lua.LFunction // the functions of the scripts that it has run
	lists  [2]*lua.LTable             // KEYS and ARGV
	words  []string                   // memory for the words of a command
}

func newInterpreter() *interpreter {
	in := &interpreter{state: lua.NewState(lua.Options{SkipOpenLibs: true}), closed: map[*Script]*lua.LFunction{}}
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		in.state.Push(in.state.NewFunction(open))
		in.state.Call(0, 0)
	}
	for _, name := range []string{"dofile", "loadfile", "print", "require", "module", "collectgarbage", "newproxy", "setfenv", "getfenv"} {
		in.state.SetGlobal(name, lua.LNil)
	}
	api := in.state.NewTable()
	for name, f := range map[string]lua.LGFunction{
		"call": in.call, "pcall": in.pcall, "sha1hex": sha1hex, "error_reply": field("err"), "status_reply": field("ok"),
		"log": nothing, "replicate_commands": yes, "setresp": nothing, "set_repl": nothing,
	} {
		in.state.SetField(api, name, in.state.NewFunction(f))
	}
	for i, level := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		in.state.SetField(api, level, lua.LNumber(i))
	}
	in.state.SetGlobal("redis", api)
	strict := in.state.NewTable()
	in.state.SetField(strict, "__index", in.state.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.Get(2).String())
		return 0
	}))
	in.state.SetField(strict, "__newindex", in.state.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Attempt to modify a readonly table")
		return 0
	}))
	globals := in.state.G.Global
	for i := range listNames {
		in.newList(i)
	}
	in.state.SetMetatable(globals, strict)
	return in
}

// run executes a script.
func (in *interpreter) run(server Server, s *Script, keys, args []string) keyspace.Reply {
	in.server = server
	l := in.state
	in.fill(0, keys)
	in.fill(1, args)
	f := in.closed[s]
	if f == nil {
		f = l.NewFunctionFromProto(s.proto)
		in.closed[s] = f
	}
	l.Push(f)
	err := l.PCall(0, 1, nil)
	r := keyspace.Reply{}
	if err != nil {
		r = keyspace.Error(problem(err, s.SHA))
	} else {
		r = replyOf(l.Get(-1))
	}
	l.SetTop(0)
	in.server = nil
	in.renew(0, len(keys))
	in.renew(1, len(args))
	return r
}

// problem returns the text of the reply to a script that ended with an error.
func problem(err error, sha string) string {
	where := " script: " + sha + ", on @user_script:1."
	var failed *lua.ApiError
	if !errors.As(err, &failed) {
		return err.Error()
	}
	if t, ok := failed.Object.(*lua.LTable); ok {
		if text, ok := t.RawGetString("err").(lua.LString); ok {
			return string(text) + where
		}
	}
	return "ERR " + failed.Object.String() + where
}

// listNames are the global tables that a script gets.
var listNames = [2]string{"KEYS", "ARGV"}

func (in *interpreter) newList(i int) {
	in.lists[i] = in.state.NewTable()
	in.state.G.Global.RawSetString(listNames[i], in.lists[i])
}

// fill makes a list one of these words. Words that are there already from the script before are
// not stored again.
func (in *interpreter) fill(i int, words []string) {
	t := in.lists[i]
	for n, w := range words {
		if old, ok := t.RawGetInt(n + 1).(lua.LString); !ok || string(old) != w {
			t.RawSetInt(n+1, lua.LString(w))
		}
	}
	for n := t.Len(); n > len(words); n-- {
		t.RawSetInt(n, lua.LNil)
	}
}

// renew replaces a list of n words in which a script has stored something else.
func (in *interpreter) renew(i, n int) {
	last := lua.LValue(lua.LNil)
	if n > 0 {
		last = lua.LNumber(n)
	}
	if next, _ := in.lists[i].Next(last); next != lua.LNil || in.lists[i].Len() != n || in.lists[i].Metatable != lua.LNil || in.state.G.Global.RawGetString(listNames[i]) != in.lists[i] {
		in.newList(i)
	}
}

// call implements redis.call: an error ends the script, unless the script catches it.
func (in *interpreter) call(l *lua.LState) int {
	v, failed := in.command(l)
	if failed {
		l.Error(v, 0)
	}
	l.Push(v)
	return 1
}

func (in *interpreter) pcall(l *lua.LState) int {
	v, _ := in.command(l)
	l.Push(v)
	return 1
}

// command executes the command that a script calls.
func (in *interpreter) command(l *lua.LState) (v lua.LValue, failed bool) {
	n := l.GetTop()
	if n == 0 {
		return errorTable(l, "ERR Please specify at least one argument for this redis lib call"), true
	}
	if cap(in.words) < n {
		in.words = make([]string, 2*n)
	}
	words := in.words[:n]
	for i := range n {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			words[i] = string(v)
		case lua.LNumber:
			words[i] = number(float64(v))
		default:
			return errorTable(l, "ERR Lua redis lib command arguments must be strings or integers"), true
		}
	}
	r := in.server.Call(words[0], words[1:])
	if r.Kind == keyspace.ReplyError { // Redis words some errors differently inside scripts
		text := r.Text
		switch {
		case strings.HasPrefix(text, "ERR unknown command"):
			text = "ERR Unknown Redis command called from script"
		case strings.HasPrefix(text, "ERR wrong number of arguments for"):
			text = "ERR Wrong number of args calling Redis command from script"
		}
		return errorTable(l, text), true
	}
	return valueOf(l, &r), false
}

func sha1hex(l *lua.LState) int {
	sum := sha1.Sum([]byte(l.CheckString(1)))
	l.Push(lua.LString(hex.EncodeToString(sum[:])))
	return 1
}

func field(name string) lua.LGFunction {
	return func(l *lua.LState) int {
		text := l.CheckString(1)
		if name == "err" {
			if text = strings.TrimPrefix(text, "-"); !strings.Contains(text, " ") {
				text = "ERR " + text
			}
		}
		t := l.CreateTable(0, 1)
		t.RawSetString(name, lua.LString(text))
		l.Push(t)
		return 1
	}
}

func nothing(*lua.LState) int { return 0 }

func yes(l *lua.LState) int {
	l.Push(lua.LTrue)
	return 1
}
