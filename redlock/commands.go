package redlock

import (
	"strings"

	"lockpick/redlock/protocol"
)

func setCommand(key, token string, ttlMS int64, fencing bool) protocol.Command {
	c := protocol.Command{Kind: Set, Key: key, Token: token, TTL: ttlMS}
	if fencing {
		c.Script, c.Keys, c.Args = protocol.SetAndCount, []string{key, fenceKey(key)}, []any{token, ttlMS}
	}
	return c
}

func releaseCommand(key, token string, tell bool) protocol.Command {
	if tell {
		return protocol.Command{Kind: Release, Key: key, Token: token, Script: protocol.CompareDeleteAndPublish, Keys: []string{key}, Args: []any{token, channel(key)}}
	}
	return protocol.Command{Kind: Release, Key: key, Token: token, Script: protocol.CompareAndDelete}
}

func recoverCommand(key, token string, ttlMS int64) protocol.Command {
	return protocol.Command{Kind: Recover, Key: key, Token: token, TTL: ttlMS}
}

func checkCommand(key, token string) protocol.Command {
	return protocol.Command{Kind: Check, Key: key, Token: token, Script: protocol.Compare}
}

func extendCommand(key, token string, ttlMS int64) protocol.Command {
	return protocol.Command{Kind: Extend, Key: key, Token: token, TTL: ttlMS, Script: protocol.CompareAndExpire, Keys: []string{key}, Args: []any{token, ttlMS}}
}

func writeBackCommand(key, token string, fence int64) protocol.Command {
	return protocol.Command{Kind: WriteBack, Key: key, Token: token, Script: protocol.CompareAndRaise, Keys: []string{key, fenceKey(key)}, Args: []any{token, fence}}
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
