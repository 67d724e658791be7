package workload

import "lockpick/redlock"

// The Lua scripts of the locks under test. Simulated masters run their Go twins, which
// the package twins has.
var (
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
)
