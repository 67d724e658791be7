package workload

import (
	"strings"
	"time"
	"unicode"

	"lockpick/redlock/protocol"
)

// command is one of the commands of a step, without the fields that all of them share.
type command struct {
	purpose protocol.Purpose
	script  *protocol.Script // nil: args is a plain command
	keys    []string
	args    []any
	ttl     time.Duration // the TTL that args set
	gate    bool          // if the reply is no, the commands after it are not sent
	once    bool          // the transport must not repeat it (protocol.Command.Once)
}

// These kinds of commands are additional to those of Redlock.
const (
	read protocol.Purpose = "read" // GET, to compare the value
	load protocol.Purpose = "load" // SCRIPT LOAD, which produces no vote
)

func setNXPX(key, token string, ttl time.Duration) []command {
	return []command{{purpose: protocol.Set, args: []any{"set", key, token, "nx", "px", ttl.Milliseconds()}, ttl: ttl}}
}

func compareAndDelete(key, token string, _ time.Duration) []command {
	return []command{{purpose: protocol.Release, script: DeleteIfOwn, keys: []string{key}, args: []any{token}}}
}

func compareAndExpire(key, token string, ttl time.Duration) []command {
	return []command{{purpose: protocol.Extend, script: ExpireIfOwn, keys: []string{key}, args: []any{token, ttl.Milliseconds()}, ttl: ttl}}
}

// setNX is SETNX without a TTL, as in the first articles on locks.
func setNX(key, token string, _ time.Duration) []command {
	return []command{{purpose: protocol.Set, args: []any{"setnx", key, token}}}
}

// setNXThenExpire sets the TTL with a second command.
func setNXThenExpire(key, token string, ttl time.Duration) []command {
	return []command{
		{purpose: protocol.Set, args: []any{"setnx", key, token}, gate: true},
		{purpose: protocol.Extend, args: []any{"pexpire", key, ttl.Milliseconds()}, ttl: ttl},
	}
}

// plainDelete deletes the key unconditionally.
func plainDelete(key, _ string, _ time.Duration) []command {
	return []command{{purpose: protocol.Release, args: []any{"del", key}}}
}

// getThenDelete checks that the key stores its token, and then deletes the key unconditionally.
func getThenDelete(key, token string, _ time.Duration) []command {
	return []command{
		{purpose: read, script: IsOwn, keys: []string{key}, args: []any{token}, gate: true},
		{purpose: protocol.Release, args: []any{"del", key}},
	}
}

// brokenDelete is an article's script with a misplaced bracket, which always ends in an error.
func brokenDelete(key, token string, _ time.Duration) []command {
	return []command{{purpose: protocol.Release, script: DeleteBroken, keys: []string{key}, args: []any{token}}}
}

// deleteByHash runs the right script, but only by its hash.
func deleteByHash(key, token string, _ time.Duration) []command {
	return []command{{purpose: protocol.Release, args: []any{"evalsha", DeleteByHash.SHA, 1, key, token}}}
}

// recreate extends the key, or sets it again if it has expired.
func recreate(key, token string, ttl time.Duration) []command {
	return []command{{purpose: protocol.Extend, script: ExpireOrSet, keys: []string{key}, args: []any{token, ttl.Milliseconds()}, ttl: ttl}}
}

// setOrOwn also succeeds if the key stores the token already.
func setOrOwn(key, token string, ttl time.Duration) []command {
	return []command{{purpose: protocol.Set, script: ExpireOrSet, keys: []string{key}, args: []any{token, ttl.Milliseconds()}, ttl: ttl}}
}

// setWholeSeconds and expireWholeSeconds divide the TTL by a second, and lose the rest.
func setWholeSeconds(key, token string, ttl time.Duration) []command {
	return setNXPX(key, token, ttl.Truncate(time.Second))
}

func expireWholeSeconds(key, token string, ttl time.Duration) []command {
	return compareAndExpire(key, token, ttl.Truncate(time.Second))
}

// setOddInSeconds sends names that have to be quoted by another path, which knows whole seconds alone.
func setOddInSeconds(key, token string, ttl time.Duration) []command {
	if strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || strings.ContainsRune(` '"\`, r) }) {
		return setWholeSeconds(key, token, ttl)
	}
	return setNXPX(key, token, ttl)
}

// setIn32Bits keeps the lower 32 bits of the TTL in milliseconds.
func setIn32Bits(key, token string, ttl time.Duration) []command {
	return setNXPX(key, token, time.Duration(uint32(ttl.Milliseconds()))*time.Millisecond)
}

// deleteCutName compares and deletes, but only the first 64 bytes of the key's name arrive.
func deleteCutName(key, token string, ttl time.Duration) []command {
	return compareAndDelete(key[:min(len(key), 64)], token, ttl)
}

// deleteWithoutBraces compares and deletes the key without the braces in its name.
func deleteWithoutBraces(key, token string, ttl time.Duration) []command {
	return compareAndDelete(strings.NewReplacer("{", "", "}", "").Replace(key), token, ttl)
}

// setAndCount and raise implement fencing: every master counts, and the client writes the
// highest counter back.
func setAndCount(key, token string, ttl time.Duration) []command {
	return []command{{purpose: protocol.Set, script: SetAndCount, keys: []string{key, key + ":fence"}, args: []any{token, ttl.Milliseconds()}, ttl: ttl}}
}

func raise(key, token string, fence int64) []command {
	return []command{{purpose: protocol.WriteBack, script: RaiseIfOwn, keys: []string{key, key + ":fence"}, args: []any{token, fence}}}
}
