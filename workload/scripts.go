package workload

import "lockpick/redlock"

// The Lua scripts of the locks under test. Simulated masters run their Go twins, which
// the package twins has.
var (
	// DeleteByHash is DeleteIfOwn in words of its own: redlock's connections have its scripts
	// loaded, and a master that was restarted would know it from there.
	DeleteByHash = redlock.NewScript(`local token = redis.call("get", KEYS[1])
if token == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`)

	// DeleteIfOwn, ExpireIfOwn, SetAndCount and RaiseIfOwn are those that redlock has too.
	DeleteIfOwn = redlock.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`)
	ExpireIfOwn = redlock.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
return 0`)
	SetAndCount = redlock.NewScript(`if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
	return redis.call("incr", KEYS[2])
end
return 0`)
	RaiseIfOwn = redlock.NewScript(`if redis.call("get", KEYS[1]) ~= ARGV[1] then
	return 0
end
if tonumber(redis.call("get", KEYS[2]) or "0") < tonumber(ARGV[2]) then
	redis.call("set", KEYS[2], ARGV[2])
end
return 1`)

	// IsOwn is a GET whose reply is compared at once. It says what a client would find,
	// and leaves the same gap before the next command.
	IsOwn = redlock.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
	return 1
end
return 0`)

	// DeleteBroken is the script of an article on Redisson: it compares inside of the
	// brackets of the call, which gets a boolean and ends in an error.
	DeleteBroken = redlock.NewScript(`if redis.call("get", KEYS[1] == ARGV[1]) then
	return redis.call("del", KEYS[1])
end
return 0`)

	// ExpireOrSet prolongs a lock and takes it again if it has lapsed (redlock-rb #36,
	// RedLock.net #49).
	ExpireOrSet = redlock.NewScript(`local holder = redis.call("get", KEYS[1])
if holder == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
if holder then
	return 0
end
redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`)

	// ReentrantSet, ReentrantExpire and ReentrantRelease are Redisson's, but for what they
	// answer: here a positive number always says yes, and nobody is told of a release.
	ReentrantSet = redlock.NewScript(`if redis.call("exists", KEYS[1]) == 1 and redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
	return 0
end
local count = redis.call("hincrby", KEYS[1], ARGV[1], 1)
redis.call("pexpire", KEYS[1], ARGV[2])
return count`)
	ReentrantExpire = redlock.NewScript(`if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
	return 0
end
return redis.call("pexpire", KEYS[1], ARGV[2])`)
	ReentrantRelease = redlock.NewScript(`if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
	return 0
end
if redis.call("hincrby", KEYS[1], ARGV[1], -1) > 0 then
	redis.call("pexpire", KEYS[1], ARGV[2])
	return 0
end
return redis.call("del", KEYS[1])`)

	// FairSet is like Redisson's: a queue of waiters (w1, w2, …) with the times (t1, t2, …) at
	// which they count as dead, each a patience after the one before. The clock is the
	// client's. Where Redisson has a list and a sorted set, a hash does. The key stores the
	// token of one attempt (ARGV[1]); the queue stores the waiter (ARGV[4]), which keeps its
	// place from attempt to attempt.
	FairSet = redlock.NewScript(`local now = tonumber(ARGV[3])
local head = tonumber(redis.call("hget", KEYS[2], "head") or "1")
local tail = tonumber(redis.call("hget", KEYS[2], "tail") or "0")
while head <= tail and tonumber(redis.call("hget", KEYS[2], "t" .. head)) <= now do
	redis.call("hdel", KEYS[2], "w" .. head, "t" .. head)
	head = head + 1
end
if redis.call("exists", KEYS[1]) == 0 and (head > tail or redis.call("hget", KEYS[2], "w" .. head) == ARGV[4]) then
	if head <= tail then
		redis.call("hdel", KEYS[2], "w" .. head, "t" .. head)
		head = head + 1
	end
	redis.call("hset", KEYS[2], "head", head, "tail", tail)
	redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
	return 1
end
local dead = now + math.max(redis.call("pttl", KEYS[1]), 0)
for i = head, tail do
	if redis.call("hget", KEYS[2], "w" .. i) == ARGV[4] then
		redis.call("hset", KEYS[2], "head", head)
		return 0
	end
	dead = math.max(dead, tonumber(redis.call("hget", KEYS[2], "t" .. i)))
end
tail = tail + 1
redis.call("hset", KEYS[2], "head", head, "tail", tail, "w" .. tail, ARGV[4], "t" .. tail, dead + ARGV[5])
return 0`)

	// FairLeave makes a waiter one that is dead.
	FairLeave = redlock.NewScript(`local head = tonumber(redis.call("hget", KEYS[1], "head") or "1")
local tail = tonumber(redis.call("hget", KEYS[1], "tail") or "0")
for i = head, tail do
	if redis.call("hget", KEYS[1], "w" .. i) == ARGV[1] then
		redis.call("hset", KEYS[1], "w" .. i, "", "t" .. i, 0)
		return 1
	end
end
return 0`)
)
