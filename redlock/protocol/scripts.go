package protocol

import (
	"crypto/sha1"
	"encoding/hex"
)

// Script is a Lua script that masters run by its hash, or, where they do not
// know it (after a restart), by its text.
type Script struct {
	Text, SHA string
}

// NewScript makes a Script of its text, for commands of another lock than this one.
func NewScript(text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{Text: text, SHA: hex.EncodeToString(sum[:])}
}

var (
	// SetAndCount is SET NX PX, and INCR of the fencing counter where it
	// succeeds. Replies with the counter, which is at least 1.
	SetAndCount = NewScript(`if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
	return redis.call("incr", KEYS[2])
end
return 0`)

	// CompareAndDelete is distlock's script: a lock is signed with its token and
	// removed only by who knows it.
	CompareAndDelete = NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`)

	// CompareAndDeleteMany is the same for several keys, each another one, and their
	// tokens. Where all hold their tokens, as nearly always, it takes one MGET and one
	// DEL and replies with their number. Else it replies with a colon and a character for
	// each: 1 deleted, 0 not held, e error. MGET has nothing to say about a key that is no
	// string; GET's error does.
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

	// CompareDeleteAndPublish also publishes that the lock is free: the number of clients
	// that listen, so that a few of them wake, and the token. A master that does not let
	// it publish has released all the same.
	CompareDeleteAndPublish = NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	local done = redis.call("del", KEYS[1])
	local waiters = redis.pcall("pubsub", "numsub", ARGV[2])[2] or 0
	redis.pcall("publish", ARGV[2], waiters .. " " .. ARGV[1])
	return done
end
return 0`)

	// CompareAndExpire extends a lock that is still ours. It never re-creates a
	// key that has lapsed: somebody may have held the lock in between.
	CompareAndExpire = NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
return 0`)

	// Compare says whether the key holds the token.
	Compare = NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return 1
end
return 0`)

	// CompareAndRaise lifts the fencing counter to the highest value that any
	// master gave, where the key still holds our token: then the client that sets
	// that key next counts on from there.
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
