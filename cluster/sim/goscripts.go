package sim

import (
	"fmt"
	"strconv"
	"strings"

	"lockpick/redlock/protocol"
)

// redlockScripts registers the Go version of each of redlock's scripts.
//
// With gopher-lua (package cluster/virtual, which runs the scripts of locks that are not in this
// repository) instead, explore needs 11 % more processor time for 3,000 schedules of redlock
// (4.42 s against 3.99) and exhaust 14 % more for 5,403 states, with the same results.
// A test in workload/goscripts compares their replies with those of real masters.
var redlockScripts = []struct {
	script *protocol.Script
	run    Script
}{
	{protocol.SetAndCount, func(db DB, keys, args []string) any {
		if db.Call("set", keys[0], args[0], "NX", "PX", args[1]) != nil {
			return db.Call("incr", keys[1])
		}
		return int64(0)
	}},

	{protocol.CompareAndDelete, func(db DB, keys, args []string) any {
		return integer(holds(db, keys[0], args[0]) && db.Del(keys[0]))
	}},

	{protocol.CompareAndDeleteMany, func(db DB, keys, args []string) any {
		for i, key := range keys {
			// MGET returns nil for a key that is not a string.
			if v, ok := db.s.get(key, db.now); !ok || v.hash != nil || i >= len(args) || v.text != args[i] {
				return releaseMany(db, keys, args)
			}
		}
		return db.Call("del", keys...)
	}},

	{protocol.CompareDeleteAndPublish, func(db DB, keys, args []string) any {
		if !holds(db, keys[0], args[0]) {
			return int64(0)
		}
		done := db.Del(keys[0])
		if waiters := db.m.subscribers(args[1]); len(db.m.listeners) > 0 {
			db.m.deliver(args[1], fmt.Sprint(waiters, " ", args[0]))
		}
		return integer(done)
	}},

	{protocol.Compare, func(db DB, keys, args []string) any { return integer(holds(db, keys[0], args[0])) }},

	{protocol.CompareAndExpire, func(db DB, keys, args []string) any {
		return integer(holds(db, keys[0], args[0]) && db.PExpire(keys[0], args[1]))
	}},

	{protocol.CompareAndRaise, func(db DB, keys, args []string) any {
		if !holds(db, keys[0], args[0]) {
			return int64(0)
		}
		at, known := db.Get(keys[1])
		if !known {
			at = "0"
		}
		if less(4, at, args[1]) {
			db.Call("set", keys[1], args[1])
		}
		return int64(1)
	}},
}

func init() {
	for _, x := range redlockScripts {
		RegisterScript(x.script.Text, x.run)
	}
}

// releaseMany deletes the keys that store their token, and returns the result for each.
func releaseMany(db DB, keys, args []string) any {
	done := []byte{':'}
	for i, key := range keys {
		reply := db.PCall("get", key)
		if token, ok := reply.(string); ok && i < len(args) && token == args[i] {
			reply = db.PCall("del", key)
		}
		switch n, _ := reply.(int64); {
		case isError(reply):
			done = append(done, 'e')
		case n == 1:
			done = append(done, '1')
		default:
			done = append(done, '0')
		}
	}
	return string(done)
}

func isError(reply any) bool {
	_, is := reply.(error)
	return is
}

func holds(db DB, key, token string) bool {
	text, ok := db.Get(key)
	return ok && text == token
}

// less is tonumber(a) < tonumber(b) in a line of a script. Lua ends the script in that line if
// one of them is not a number.
func less(line int, a, b string) bool {
	x, isX := number(a)
	y, isY := number(b)
	if isX && isY {
		return x < y
	}
	what := "two nil values"
	switch {
	case isX:
		what = "number with nil"
	case isY:
		what = "nil with number"
	}
	panic(scriptError(fmt.Sprintf("ERR user_script:%d: attempt to compare %s", line, what)))
}

// number does the same as Lua's tonumber.
func number(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return n, err == nil
}

func integer(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
