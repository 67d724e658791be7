// Package redsync is redlock in the shape of github.com/go-redsync/redsync/v4, so that a
// program can switch by changing its imports:
//
//	import (
//		"lockpick/redlock/redsync"         // was github.com/go-redsync/redsync/v4
//		goredis "lockpick/redlock/redsync" // was …/redsync/v4/redis/goredis/v9
//	)
//
//	rs := redsync.New(goredis.NewPool(client1), goredis.NewPool(client2), goredis.NewPool(client3))
//	mutex := rs.NewMutex("invoice-17", redsync.WithExpiry(5*time.Second))
//	err := mutex.LockContext(ctx)
//	…
//	ok, err := mutex.UnlockContext(ctx)
//
// Keys and values on the masters are of the same form as redsync's, so both can be used
// side by side while a program is being switched.
//
// What is different: the lock of a failed attempt is always released; whoever waits for a
// key in the same process does so in line; the masters are asked all at once, and a
// majority's answer is enough, so WithFailFast and WithShufflePools change nothing; a
// master that hangs is not waited for again and again. WithTries also bounds the wait in
// line, by the time that so many tries take at most.
//
// What is left out, because a lock is not safe with it: WithValue and WithGenValueFunc
// (a value that repeats lets one attempt's release delete another's lock),
// WithSetNXOnExtend (who extends a lock that has lapsed may have lost it to somebody
// meanwhile, and must know).
//
// What redsync has not, and redlock has, is at hand too: Mutex.Lease.
package redsync
