package redlock

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
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

func script(text string) *Script { return NewScript(text) }

var (
	// setAndCount is SET NX PX, and INCR of the fencing counter where it
	// succeeds. Replies with the counter, which is at least 1.
	setAndCount = script(`if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
	return redis.call("incr", KEYS[2])
end
return 0`)

	// compareAndDelete is distlock's script: a lock is signed with its token and
	// removed only by who knows it.
	compareAndDelete = script(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`)

	// compareAndDeleteMany is the same for several keys, each another one, and their
	// tokens. Where all hold their tokens, as nearly always, it takes one MGET and one
	// DEL and replies with their number. Else it replies with a colon and a character for
	// each: 1 deleted, 0 not held, e error. MGET has nothing to say about a key that is no
	// string; GET's error does.
	compareAndDeleteMany = script(`local tokens, same = redis.call("mget", unpack(KEYS)), true
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

	// compareDeleteAndTell also publishes that the lock is free: the number of clients
	// that listen, so that a few of them wake, and the token. A master that does not let
	// it publish has released all the same.
	compareDeleteAndTell = script(`if redis.call("get", KEYS[1]) == ARGV[1] then
	local done = redis.call("del", KEYS[1])
	local waiters = redis.pcall("pubsub", "numsub", ARGV[2])[2] or 0
	redis.pcall("publish", ARGV[2], waiters .. " " .. ARGV[1])
	return done
end
return 0`)

	// compareAndExpire extends a lock that is still ours. It never re-creates a
	// key that has lapsed: somebody may have held the lock in between.
	compareAndExpire = script(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
return 0`)

	// compare says whether the key holds the token.
	compare = script(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return 1
end
return 0`)

	// compareAndRaise lifts the fencing counter to the highest value that any
	// master gave. Only where the key still holds our token: then whoever sets
	// that key next counts on from there.
	compareAndRaise = script(`if redis.call("get", KEYS[1]) ~= ARGV[1] then
	return 0
end
if tonumber(redis.call("get", KEYS[2]) or "0") < tonumber(ARGV[2]) then
	redis.call("set", KEYS[2], ARGV[2])
end
return 1`)
)

// scripts are those that a master is taught when it is connected to.
var scripts = []*Script{setAndCount, compareAndDelete, compareAndDeleteMany, compareDeleteAndTell, compareAndExpire, compareAndRaise}

func setCommand(key, token string, ttlMS int64, fencing bool) Command {
	c := Command{Kind: Set, Key: key, Token: token, TTL: ttlMS}
	if fencing {
		c.Script, c.Keys, c.Args = setAndCount, []string{key, fenceKey(key)}, []any{token, ttlMS}
	}
	return c
}

func releaseCommand(key, token string, tell bool) Command {
	if tell {
		return Command{Kind: Release, Key: key, Token: token, Script: compareDeleteAndTell, Keys: []string{key}, Args: []any{token, channel(key)}}
	}
	return Command{Kind: Release, Key: key, Token: token, Script: compareAndDelete}
}

func recoverCommand(key, token string, ttlMS int64) Command {
	return Command{Kind: Recover, Key: key, Token: token, TTL: ttlMS}
}

func checkCommand(key, token string) Command {
	return Command{Kind: Check, Key: key, Token: token, Script: compare}
}

func extendCommand(key, token string, ttlMS int64) Command {
	return Command{Kind: Extend, Key: key, Token: token, TTL: ttlMS, Script: compareAndExpire, Keys: []string{key}, Args: []any{token, ttlMS}}
}

func writeBackCommand(key, token string, fence int64) Command {
	return Command{Kind: WriteBack, Key: key, Token: token, Script: compareAndRaise, Keys: []string{key, fenceKey(key)}, Args: []any{token, fence}}
}

// fenceKey is where a master counts the fencing tokens of a key. It never expires.
func fenceKey(key string) string { return key + fenceSuffix }

const fenceSuffix = ":fence"

// stored is the name of a lock on the masters: the key itself, with the prefix. A key that
// looks like another lock's counter ("a:fence") gets ":lock" added, and so does one that
// looks like that ("a:fence:lock"): so no two keys share a name, and none is a counter.
func (s *settings) stored(key string) string {
	bare := key
	for {
		rest, cut := strings.CutSuffix(bare, ":lock")
		if !cut {
			break
		}
		bare = rest
	}
	if strings.HasSuffix(bare, fenceSuffix) {
		key += ":lock"
	}
	return s.prefix + key
}

// channel is where it is published that a key was released.
func channel(key string) string { return key + ":released" }
