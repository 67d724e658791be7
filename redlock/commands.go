package redlock

import (
	"strings"

	"lockpick/redlock/protocol"
)

func setCommand(key, token string, ttlMS int64, fencing bool) protocol.Command {
	c := protocol.Command{Purpose: Set, Key: key, Token: token, TTL: ttlMS}
	if fencing {
		c.Script, c.Keys, c.Args = protocol.SetAndCount, []string{key, fenceKey(key)}, []any{token, ttlMS}
	}
	return c
}

func releaseCommand(key, token string, publish bool) protocol.Command {
	if publish {
		return protocol.Command{Purpose: Release, Key: key, Token: token, Script: protocol.CompareDeleteAndPublish, Keys: []string{key}, Args: []any{token, protocol.ReleaseChannel(key)}}
	}
	return protocol.Command{Purpose: Release, Key: key, Token: token, Script: protocol.CompareAndDelete}
}

func recoverCommand(key, token string, ttlMS int64) protocol.Command {
	return protocol.Command{Purpose: Recover, Key: key, Token: token, TTL: ttlMS}
}

func checkCommand(key, token string) protocol.Command {
	return protocol.Command{Purpose: Check, Key: key, Token: token, Script: protocol.Compare}
}

func extendCommand(key, token string, ttlMS int64) protocol.Command {
	return protocol.Command{Purpose: Extend, Key: key, Token: token, TTL: ttlMS, Script: protocol.CompareAndExpire, Keys: []string{key}, Args: []any{token, ttlMS}}
}

func writeBackCommand(key, token string, fence int64) protocol.Command {
	return protocol.Command{Purpose: WriteBack, Key: key, Token: token, Script: protocol.CompareAndRaise, Keys: []string{key, fenceKey(key)}, Args: []any{token, fence}}
}

// fenceKey returns the key of the counter of fencing tokens. It never expires.
func fenceKey(key string) string { return key + fenceSuffix }

const fenceSuffix = ":fence"

// stored returns the name of a lock's key on the masters: the prefix and the key. A key
// with the name of another lock's counter ("a:fence") gets ":lock" appended, and so does a
// key with the name that results from this ("a:fence:lock"). So different locks have
// different names, and none has the name of a counter.
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
