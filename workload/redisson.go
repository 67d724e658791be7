package workload

import (
	"time"

	"lockpick/redlock/protocol"
)

// redissons are Redisson's RedLock and its parts, as its documentation and its code
// describe them: re-entrant locks that are hashes with the holder's id and a count. RedLock
// consists of several such locks, and is held when a majority of them is.
//
//	k0 = { "c1:1": 2 }    client c1, its thread 1, entered twice
var redissons = []Implementation{
	{
		Name: "redisson-redlock", Reentrant: true, Opaque: true, Twin: "textbook", Claims: []int{56, 60},
		Summary: "Redisson's RedLock with a lease time: keys that last twice as long as one may wait, then a PEXPIRE whose result nobody reads",
		New: textbookWith(mutations{
			stored: threadID, set: enterTwice, release: leave, extend: renewEntry, noValidity: true, resets: true,
		}),
	},
	{
		Name: "redisson-resending", Reentrant: true, Opaque: true, Twin: "textbook-renewing", Claims: []int{58},
		Summary: "Redisson's RedLock by a driver that sends again what got no answer: the count is then too high, and the watchdog goes on",
		New: textbookWith(mutations{
			stored: threadID, set: enter, release: leave, extend: renewEntry, driverRetries: true, renews: true, outlives: true,
		}),
	},
	{
		Name: "redisson-watchdog", Reentrant: true, Opaque: true, Twin: "textbook-renewing", Claims: []int{55, 57, 73},
		Summary: "Redisson's RedLock without a lease time: a watchdog renews it as long as its client lives, and tells nobody when that fails",
		New: textbookWith(mutations{
			stored: threadID, set: enter, release: leave, extend: renewEntry, noValidity: true, renewsForever: true, untold: true,
		}),
	},
	{
		Name: "redisson-late-watchdog", Reentrant: true, Opaque: true, Twin: "textbook-renewing", Claims: []int{59},
		Summary: "a watchdog that the release does not stop: it goes on to renew the same thread's next lock, without end",
		New: textbookWith(mutations{
			stored: threadID, set: enter, release: leave, extend: renewEntry, renews: true, outlives: true,
		}),
	},
}

// threadID returns uuid:threadId, which is the same for all commands of one thread of a
// client.
func threadID(l *textbook) string { return l.env.Client + ":1" }

// enter increments the count if the lock is free or held by the same thread.
func enter(key, token string, ttl time.Duration) []command {
	return []command{{purpose: protocol.Set, script: ReentrantSet, keys: []string{key}, args: []any{token, ttl.Milliseconds()}, ttl: ttl}}
}

// enterTwice does the same with a TTL that is twice the wait time, which is one TTL here.
func enterTwice(key, token string, ttl time.Duration) []command { return enter(key, token, 2*ttl) }

// leave decrements the count, and deletes the lock at 0. Otherwise it renews the TTL.
func leave(key, token string, ttl time.Duration) []command {
	return []command{{purpose: protocol.Release, script: ReentrantRelease, keys: []string{key}, args: []any{token, ttl.Milliseconds()}, ttl: ttl, once: true}}
}

// renewEntry sets a new TTL if the thread still holds the lock.
func renewEntry(key, token string, ttl time.Duration) []command {
	return []command{{purpose: protocol.Extend, script: ReentrantExpire, keys: []string{key}, args: []any{token, ttl.Milliseconds()}, ttl: ttl}}
}
