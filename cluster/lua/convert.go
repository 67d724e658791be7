package lua

import (
	"math"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"lockpick/cluster/keyspace"
)

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
func valueOf(l *lua.LState, r *keyspace.Reply) lua.LValue {
	switch r.Kind {
	case keyspace.ReplyInt:
		return lua.LNumber(r.N)
	case keyspace.ReplyBulk, keyspace.ReplyDouble, keyspace.ReplyText:
		return lua.LString(r.Text)
	case keyspace.ReplyStatus:
		t := l.CreateTable(0, 1)
		t.RawSetString("ok", lua.LString(r.Text))
		return t
	case keyspace.ReplyError:
		return errorTable(l, r.Text)
	case keyspace.ReplyArray, keyspace.ReplyMap, keyspace.ReplyPairs:
		t := l.CreateTable(len(r.Items), 0)
		for i := range r.Items {
			t.RawSetInt(i+1, valueOf(l, &r.Items[i]))
		}
		return t
	case keyspace.ReplyMapOrPairs: // scripts see version 2 of the protocol
		t := l.CreateTable(len(r.Items)/2, 0)
		for i := 0; i < len(r.Items); i += 2 {
			pair := keyspace.Array(r.Items[i : i+2]...)
			t.Append(valueOf(l, &pair))
		}
		return t
	}
	return lua.LFalse
}

// replyOf converts the result of a script into a reply.
func replyOf(v lua.LValue) keyspace.Reply {
	switch v := v.(type) {
	case lua.LBool:
		if v {
			return keyspace.Int(1)
		}
	case lua.LNumber:
		return keyspace.Int(int64(v)) // Redis removes the fraction
	case lua.LString:
		return keyspace.Bulk(string(v))
	case *lua.LTable:
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			return keyspace.Error(string(text))
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			return keyspace.Reply{Kind: keyspace.ReplyStatus, Text: string(text)}
		}
		all := keyspace.Array()
		for i := 1; ; i++ {
			x := v.RawGetInt(i)
			if x == lua.LNil {
				return all
			}
			all.Items = append(all.Items, replyOf(x))
		}
	}
	return keyspace.Nil
}
