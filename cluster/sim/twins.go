package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// releaseText is what masters are asked nearly as often as SET (see giveBack).
const releaseText = `if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`

// The twins of redlock's scripts, each beside its text. A test compares the texts
// with redlock's own.
var redlockTwins = []struct {
	text string
	twin Script
}{
	{`if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
	return redis.call("incr", KEYS[2])
end
return 0`, func(db DB, keys, args []string) any {
		if db.Call("set", keys[0], args[0], "NX", "PX", args[1]) != nil {
			return db.Call("incr", keys[1])
		}
		return int64(0)
	}},

	{releaseText, func(db DB, keys, args []string) any {
		return integer(holds(db, keys[0], args[0]) && db.Del(keys[0]))
	}},

	{`local tokens, same = redis.call("mget", unpack(KEYS)), true
for i = 1, #KEYS do
	same = same and tokens[i] == ARGV[i]
end
if same then
	return redis.call("del", unpack(KEYS))
end
local done = {":"}
for i, key in ipairs(KEYS) do
	local reply = tokens[i] or redis.pcall("get", key)
	if reply == ARGV[i] then
		reply = redis.pcall("del", key)
	end
	if type(reply) == "table" then
		done[i + 1] = "e"
	else
		done[i + 1] = reply == 1 and "1" or "0"
	end
end
return table.concat(done)`, func(db DB, keys, args []string) any {
		for i, key := range keys {
			// MGET has nothing to say about a key that is no string.
			if v, ok := db.s.get(key, db.now); !ok || v.hash != nil || i >= len(args) || v.text != args[i] {
				return releaseMany(db, keys, args)
			}
		}
		return db.Call("del", keys...)
	}},

	// Nobody listens to simulated masters, so what they publish comes to nothing.
	{`if redis.call("get", KEYS[1]) == ARGV[1] then
	local done = redis.call("del", KEYS[1])
	local waiters = redis.pcall("pubsub", "numsub", ARGV[2])[2] or 0
	redis.pcall("publish", ARGV[2], waiters .. " " .. ARGV[1])
	return done
end
return 0`, func(db DB, keys, args []string) any {
		return integer(holds(db, keys[0], args[0]) && db.Del(keys[0]))
	}},

	{`if redis.call("get", KEYS[1]) == ARGV[1] then
	return 1
end
return 0`, func(db DB, keys, args []string) any { return integer(holds(db, keys[0], args[0])) }},

	{`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
return 0`, func(db DB, keys, args []string) any {
		return integer(holds(db, keys[0], args[0]) && db.PExpire(keys[0], args[1]))
	}},

	{`if redis.call("get", KEYS[1]) ~= ARGV[1] then
	return 0
end
if tonumber(redis.call("get", KEYS[2]) or "0") < tonumber(ARGV[2]) then
	redis.call("set", KEYS[2], ARGV[2])
end
return 1`, func(db DB, keys, args []string) any {
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
	for _, x := range redlockTwins {
		RegisterScript(x.text, x.twin)
	}
}

// releaseMany deletes the keys that hold their token, and says of each what came of it.
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

// less is tonumber(a) < tonumber(b) in the given line of a script, which Lua ends
// there if one of them is no number.
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

// number is Lua's tonumber.
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
