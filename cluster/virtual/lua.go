package virtual

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"lockpick/cluster/sim"
)

// compiled holds the compiled scripts of all masters, by text: a search gives the same few
// scripts to thousands of masters.
var compiled sync.Map

// interpreters holds idle Lua states: making one takes longer than running any script of a
// lock.
var interpreters = sync.Pool{New: func() any { return newInterpreter() }}

// script compiles a Lua script.
func script(text string) (sim.Script, error) {
	if f, ok := compiled.Load(text); ok {
		return f.(sim.Script), nil
	}
	const name = "user_script"
	chunk, err := parse.Parse(strings.NewReader(text), name)
	if err != nil {
		return nil, fmt.Errorf("ERR Error compiling script (new function): %w", err)
	}
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, fmt.Errorf("ERR Error compiling script (new function): %w", err)
	}
	f := sim.Script(func(db sim.DB, keys, args []string) any {
		in := interpreters.Get().(*interpreter)
		v := in.run(db, proto, keys, args)
		interpreters.Put(in)
		return v
	})
	compiled.Store(text, f)
	return f, nil
}

// interpreter is a Lua state with the functions that Redis provides to scripts.
type interpreter struct {
	state *lua.LState
	db    sim.DB // the keys that the script works on
}

func newInterpreter() *interpreter {
	in := &interpreter{state: lua.NewState(lua.Options{SkipOpenLibs: true})}
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		in.state.Push(in.state.NewFunction(open))
		in.state.Call(0, 0)
	}
	for _, name := range []string{"dofile", "loadfile", "print", "require", "module", "collectgarbage", "newproxy"} {
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
	for _, name := range []string{"KEYS", "ARGV"} {
		globals.RawSetString(name, in.state.NewTable())
	}
	in.state.SetMetatable(globals, strict)
	return in
}

// run executes a script.
func (in *interpreter) run(db sim.DB, proto *lua.FunctionProto, keys, args []string) any {
	in.db = db
	l := in.state
	l.G.Global.RawSetString("KEYS", list(l, keys))
	l.G.Global.RawSetString("ARGV", list(l, args))
	l.Push(l.NewFunctionFromProto(proto))
	if err := l.PCall(0, 1, nil); err != nil {
		l.SetTop(0)
		return scriptError(err)
	}
	v := l.Get(-1)
	l.SetTop(0)
	return replyOf(v)
}

// scriptError returns the reply to a script that ended with an error.
func scriptError(err error) error {
	var failed *lua.ApiError
	if !errors.As(err, &failed) {
		return err
	}
	if t, ok := failed.Object.(*lua.LTable); ok {
		if text, ok := t.RawGetString("err").(lua.LString); ok {
			return errors.New(string(text) + " script: , on @user_script:1.")
		}
	}
	return errors.New("ERR " + failed.Object.String() + " script: , on @user_script:1.")
}

func list(l *lua.LState, words []string) *lua.LTable {
	t := l.CreateTable(len(words), 0)
	for _, w := range words {
		t.Append(lua.LString(w))
	}
	return t
}

// call implements redis.call: an error ends the script, unless the script catches it.
func (in *interpreter) call(l *lua.LState) int {
	v := in.command(l)
	if t, ok := v.(*lua.LTable); ok && t.RawGetString("err") != lua.LNil {
		l.Error(t, 0)
	}
	l.Push(v)
	return 1
}

func (in *interpreter) pcall(l *lua.LState) int {
	l.Push(in.command(l))
	return 1
}

// command executes the command that a script calls.
func (in *interpreter) command(l *lua.LState) lua.LValue {
	n := l.GetTop()
	if n == 0 {
		return errorTable(l, "ERR Please specify at least one argument for this redis lib call")
	}
	words := make([]string, n)
	for i := range n {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			words[i] = string(v)
		case lua.LNumber:
			words[i] = number(float64(v))
		default:
			return errorTable(l, "ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	switch strings.ToLower(words[0]) {
	case "eval", "evalsha", "script", "wait":
		return errorTable(l, "ERR This Redis command is not allowed from script")
	}
	v := in.db.PCall(words[0], words[1:]...)
	if err, failed := v.(error); failed { // Redis words some errors differently inside scripts
		switch text := err.Error(); {
		case strings.HasPrefix(text, "ERR unknown command"):
			return errorTable(l, "ERR Unknown Redis command called from script")
		case strings.HasPrefix(text, "ERR wrong number of arguments for"):
			return errorTable(l, "ERR Wrong number of args calling Redis command from script")
		}
	}
	return valueOf(l, v)
}

// number formats a number of a script in the form in which it is sent.
func number(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

func errorTable(l *lua.LState, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString("err", lua.LString(text))
	return t
}

// valueOf converts a reply into a Lua value.
func valueOf(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case int64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case sim.Status:
		t := l.CreateTable(0, 1)
		t.RawSetString("ok", lua.LString(v))
		return t
	case error:
		return errorTable(l, v.Error())
	case []any:
		t := l.CreateTable(len(v), 0)
		for i, x := range v {
			t.RawSetInt(i+1, valueOf(l, x))
		}
		return t
	}
	return lua.LFalse
}

// replyOf converts the result of a script into a reply.
func replyOf(v lua.LValue) any {
	switch v := v.(type) {
	case lua.LBool:
		return bool(v)
	case lua.LNumber:
		return int64(v) // Redis removes the fraction
	case lua.LString:
		return string(v)
	case *lua.LTable:
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			return errors.New(string(text))
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			return sim.Status(text)
		}
		all := []any{}
		for i := 1; ; i++ {
			x := v.RawGetInt(i)
			if x == lua.LNil {
				return all
			}
			if x == lua.LFalse { // a nil within an array, which does not end it
				all = append(all, false)
				continue
			}
			all = append(all, replyOf(x))
		}
	}
	return nil
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
