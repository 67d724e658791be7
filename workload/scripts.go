package workload

import "lockpick/redlock/protocol"

// These are the Lua scripts of the locks under test.
var (
	// DeleteByHash is DeleteIfOwn with another text. redlock's connections load its own
	// scripts, so a master that was restarted would know them.
	DeleteByHash = protocol.NewScript(`local token = redis.call("get", KEYS[1])
if token == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`)

	// These are the scripts of redlock.
	DeleteIfOwn = protocol.CompareAndDelete
	ExpireIfOwn = protocol.CompareAndExpire
	SetAndCount = protocol.SetAndCount
	RaiseIfOwn  = protocol.CompareAndRaise

	// IsOwn is GET and a comparison in a script. It returns what a client would find by GET,
	// and leaves the same gap before the next command.
	IsOwn = protocol.Compare

	// DeleteBroken is the script of an article on Redisson: a misplaced bracket passes the
	// result of a comparison, a boolean, to redis.call, which ends in an error.
	DeleteBroken = protocol.NewScript(`if redis.call("get", KEYS[1] == ARGV[1]) then
	return redis.call("del", KEYS[1])
end
return 0`)

	// ExpireOrSet prolongs a lock, and acquires it again if it has expired (redlock-rb #36,
	// RedLock.net #49).
	ExpireOrSet = protocol.NewScript(`local holder = redis.call("get", KEYS[1])
if holder == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
if holder then
	return 0
end
redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`)

	// ReentrantSet, ReentrantExpire and ReentrantRelease are the scripts of Redisson, with
	// two differences: a positive number always means success, and a release is not
	// published.
	ReentrantSet = protocol.NewScript(`if redis.call("exists", KEYS[1]) == 1 and redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
	return 0
end
local count = redis.call("hincrby", KEYS[1], ARGV[1], 1)
redis.call("pexpire", KEYS[1], ARGV[2])
return count`)
	ReentrantExpire = protocol.NewScript(`if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
	return 0
end
return redis.call("pexpire", KEYS[1], ARGV[2])`)
	ReentrantRelease = protocol.NewScript(`if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
	return 0
end
if redis.call("hincrby", KEYS[1], ARGV[1], -1) > 0 then
	redis.call("pexpire", KEYS[1], ARGV[2])
	return 0
end
return redis.call("del", KEYS[1])`)

	// FairSet is like the script of Redisson: there is a queue of waiters (w1, w2, …) beside
	// the key. The key stores the token of one attempt (ARGV[1]). The queue stores the
	// waiter (ARGV[3]), which keeps its place in all attempts. When a command finds the lock
	// free, the first waiter has the time ARGV[4] to claim it, for which KEYS[3] exists.
	// After that the waiter counts as dead.
	FairSet = protocol.NewScript(`local head = tonumber(redis.call("hget", KEYS[2], "head") or "1")
local tail = tonumber(redis.call("hget", KEYS[2], "tail") or "0")
local turn = tonumber(redis.call("hget", KEYS[2], "turn") or "0")
local free = redis.call("exists", KEYS[1]) == 0
local first = redis.call("hget", KEYS[2], "w" .. head)
while free and head <= tail and first ~= ARGV[3] do
	if first ~= "" and turn < head then
		redis.call("hset", KEYS[2], "turn", head)
		redis.call("set", KEYS[3], first, "PX", ARGV[4])
		break
	end
	if first ~= "" and redis.call("exists", KEYS[3]) == 1 then
		break
	end
	redis.call("hdel", KEYS[2], "w" .. head)
	head = head + 1
	first = redis.call("hget", KEYS[2], "w" .. head)
end
if free and (head > tail or first == ARGV[3]) then
	if head <= tail then
		redis.call("hdel", KEYS[2], "w" .. head)
		head = head + 1
	end
	redis.call("hset", KEYS[2], "head", head, "tail", tail)
	redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
	return 1
end
redis.call("hset", KEYS[2], "head", head)
for i = head, tail do
	if redis.call("hget", KEYS[2], "w" .. i) == ARGV[3] then
		return 0
	end
end
tail = tail + 1
redis.call("hset", KEYS[2], "tail", tail, "w" .. tail, ARGV[3])
return 0`)

	// FairLeave removes a waiter from the queue.
	FairLeave = protocol.NewScript(`local head = tonumber(redis.call("hget", KEYS[1], "head") or "1")
local tail = tonumber(redis.call("hget", KEYS[1], "tail") or "0")
for i = head, tail do
	if redis.call("hget", KEYS[1], "w" .. i) == ARGV[1] then
		redis.call("hset", KEYS[1], "w" .. i, "")
		return 1
	end
end
return 0`)
)
