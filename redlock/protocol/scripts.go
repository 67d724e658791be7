package protocol

import (
	"crypto/sha1"
	"encoding/hex"
)

// Script is a Lua script. It is sent by its hash (EVALSHA), or by its text (EVAL) if the
// master does not know it, for example after a restart.
type Script struct {
	Text, SHA string
}

// NewScript makes a Script from its text.
func NewScript(text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{Text: text, SHA: hex.EncodeToString(sum[:])}
}

var (
	// SetAndCount sets a key with NX and PX, and if that succeeds, increments the fencing
	// counter. It replies with the counter, which is at least 1, or with 0.
	SetAndCount = NewScript(`if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
	return redis.call("incr", KEYS[2])
end
return 0`)

	// CompareAndDelete is the script of distlock: it deletes a key only if the key stores
	// the token of the caller.
	CompareAndDelete = NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`)

	// CompareAndDeleteMany does the same for several different keys and their tokens. If
	// all keys store their tokens, which is nearly always so, it runs one MGET and one DEL
	// and replies with the number of keys. Otherwise it replies with a colon and one
	// character for each key: 1 (deleted), 0 (not held) or e (error). For a key that is not
	// a string MGET returns nil, so GET is called, which returns the error.
	CompareAndDeleteMany = NewScript(`local tokens, same = redis.call("mget", unpack(KEYS)), true
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
return table.concat(done)`)

	// CompareDeleteAndPublish also publishes the release: the number of subscribers, so
	// that only a few of them wake, and the token. If the user is not permitted to publish,
	// the key is deleted all the same.
	CompareDeleteAndPublish = NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	local done = redis.call("del", KEYS[1])
	local waiters = redis.pcall("pubsub", "numsub", ARGV[2])[2] or 0
	redis.pcall("publish", ARGV[2], waiters .. " " .. ARGV[1])
	return done
end
return 0`)

	// CompareAndExpire sets the TTL of a key that stores the token. It never creates a key
	// that has expired, because another client may have held the lock in between.
	CompareAndExpire = NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
return 0`)

	// Compare replies with 1 if the key stores the token, otherwise with 0.
	Compare = NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return 1
end
return 0`)

	// CompareAndRaise raises the fencing counter to the highest value of all masters, if
	// the key still stores the token. The client that sets the key next then gets a
	// greater value.
	CompareAndRaise = NewScript(`if redis.call("get", KEYS[1]) ~= ARGV[1] then
	return 0
end
if tonumber(redis.call("get", KEYS[2]) or "0") < tonumber(ARGV[2]) then
	redis.call("set", KEYS[2], ARGV[2])
end
return 1`)
)

// Scripts are all scripts of the lock.
var Scripts = []*Script{SetAndCount, CompareAndDelete, CompareAndDeleteMany, CompareDeleteAndPublish, CompareAndExpire, Compare, CompareAndRaise}
