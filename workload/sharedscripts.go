package workload

import (
	"strings"

	"lockpick/redlock/protocol"
)

// These are the Lua scripts of the locks that several clients may hold (sharedScripts has their arguments).
var (
	// ReadWriteSet admits a reader if there is no writer, and a writer if there is nobody. The key lasts as long as the
	// longest lease.
	ReadWriteSet = protocol.NewScript(readWriteSet)

	// ReadWriteSetShort sets the TTL of the key to a tenth when a reader joins others.
	ReadWriteSetShort = protocol.NewScript(strings.Replace(readWriteSet, longest, shortIf("mode"), 1))

	// ReadWriteExtend prolongs the key for a holder.
	ReadWriteExtend = protocol.NewScript(prolong)

	// ReadWriteChange makes a holder a reader, or a writer if it is the only holder. The field of the holder has the number
	// of its last change, so that a change which arrives after a later one does nothing.
	ReadWriteChange = protocol.NewScript(readWriteChange)

	// ReadWriteChangeAny makes a holder a writer although others read.
	ReadWriteChangeAny = protocol.NewScript(strings.Replace(readWriteChange, unlessOthersRead, "", 1))

	// ReadWriteRelease removes a holder, and the key with the last one.
	ReadWriteRelease = protocol.NewScript(`if redis.call("hdel", KEYS[1], ARGV[1]) == 0 then
	return 0
end
if redis.call("hlen", KEYS[1]) == 1 then
	redis.call("del", KEYS[1])
end
return 1`)

	// ReadWriteReleaseAny does not look whether the holder was one.
	ReadWriteReleaseAny = protocol.NewScript(`redis.call("hdel", KEYS[1], ARGV[1])
if redis.call("hlen", KEYS[1]) == 1 or redis.call("hget", KEYS[1], "mode") ~= ARGV[4] then
	redis.call("del", KEYS[1])
end
return 1`)

	// SemaphoreSet takes free permits. It first declares how many there are, and takes back those that have expired by
	// the master's clock.
	SemaphoreSet = protocol.NewScript(strings.Replace(semaphoreSet, anew, once, 1))

	// SemaphoreSetAnew declares the permits whenever none is free.
	SemaphoreSetAnew = protocol.NewScript(semaphoreSet)

	// SemaphoreExtend sets a new end of permits that have not expired.
	SemaphoreExtend = protocol.NewScript(clockOfMaster + `local permit = redis.call("hget", KEYS[1], ARGV[1])
if not permit or tonumber(string.match(permit, "^%d+")) <= now then
	return 0
end
redis.call("hset", KEYS[1], ARGV[1], string.format("%.0f %s", now + ARGV[2], string.match(permit, "%d+$")))
return 1`)

	// SemaphoreRelease gives permits back.
	SemaphoreRelease = protocol.NewScript(`if redis.call("hdel", KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call("hincrby", KEYS[1], "free", ARGV[5])
return 1`)

	// SemaphoreReleaseTwice gives permits back, whether they had expired or not.
	SemaphoreReleaseTwice = protocol.NewScript(`redis.call("hdel", KEYS[1], ARGV[1])
redis.call("hincrby", KEYS[1], "free", ARGV[5])
return 1`)

	// NestedSet admits the owner, or anybody if there is none. The key lasts as long as the longest lease.
	NestedSet = protocol.NewScript(nestedSet)

	// NestedSetShort sets the TTL of the key to a tenth when its owner acquires it again.
	NestedSetShort = protocol.NewScript(strings.Replace(nestedSet, longest, shortIf("owner"), 1))

	// NestedExtend prolongs the key for one of its holds.
	NestedExtend = protocol.NewScript(prolong)

	// NestedRelease removes a hold, and the key with the last one.
	NestedRelease = ReadWriteRelease

	// NestedReleaseAll removes the key with any hold.
	NestedReleaseAll = protocol.NewScript(`if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
	return 0
end
return redis.call("del", KEYS[1])`)
)

// longest gives the key a TTL that no holder's lease outlasts.
const longest = `redis.call("pexpire", KEYS[1], math.max(redis.call("pttl", KEYS[1]), tonumber(ARGV[2])))`

// shortIf gives the key a tenth of the TTL if somebody holds it.
func shortIf(held string) string {
	return `if ` + held + ` then
	redis.call("pexpire", KEYS[1], math.floor(ARGV[2] / 10))
else
	redis.call("pexpire", KEYS[1], ARGV[2])
end`
}

const readWriteSet = `local mode = redis.call("hget", KEYS[1], "mode")
if mode and (mode ~= "read" or ARGV[4] ~= "read") then
	return 0
end
redis.call("hset", KEYS[1], "mode", ARGV[4], ARGV[1], 0)
` + longest + `
return 1`

const readWriteChange = `local last = redis.call("hget", KEYS[1], ARGV[1])
if not last or tonumber(last) >= tonumber(ARGV[7]) then
	return 0
end
` + unlessOthersRead + `redis.call("hset", KEYS[1], "mode", ARGV[4], ARGV[1], ARGV[7])
` + longest + `
return 1`

// unlessOthersRead refuses an upgrade if the hash has more than its mode and the field of the holder.
const unlessOthersRead = `if ARGV[4] == "write" and redis.call("hlen", KEYS[1]) > 2 then
	return 0
end
`

const nestedSet = `local owner = redis.call("hget", KEYS[1], "owner")
if owner and owner ~= ARGV[3] then
	return 0
end
redis.call("hset", KEYS[1], "owner", ARGV[3], ARGV[1], 1)
` + longest + `
return 1`

const prolong = `if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
	return 0
end
` + longest + `
return 1`

// clockOfMaster reads the time in milliseconds.
const clockOfMaster = `local clock = redis.call("time")
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
`

// once declares how many permits there are if nobody has; anew also if none is free.
const (
	once = `if not free then`
	anew = `if not free or free == "0" then`
)

const semaphoreSet = clockOfMaster + `local free = redis.call("hget", KEYS[1], "free")
` + anew + `
	redis.call("hset", KEYS[1], "free", ARGV[6])
end
local all = redis.call("hgetall", KEYS[1])
for i = 1, #all, 2 do
	if all[i] ~= "free" and tonumber(string.match(all[i + 1], "^%d+")) <= now then
		redis.call("hdel", KEYS[1], all[i])
		redis.call("hincrby", KEYS[1], "free", string.match(all[i + 1], "%d+$"))
	end
end
if tonumber(redis.call("hget", KEYS[1], "free")) < tonumber(ARGV[5]) then
	return 0
end
redis.call("hincrby", KEYS[1], "free", -ARGV[5])
redis.call("hset", KEYS[1], ARGV[1], string.format("%.0f %s", now + ARGV[2], ARGV[5]))
return 1`
