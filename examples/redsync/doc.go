// Package redsync has the API of github.com/go-redsync/redsync/v4 and uses redlock, so that
// a program can switch by changing its imports:
//
//	import (
//		"lockpick/examples/redsync"         // was github.com/go-redsync/redsync/v4
//		goredis "lockpick/examples/redsync" // was …/redsync/v4/redis/goredis/v9
//	)
//
//	rs := redsync.New(goredis.NewPool(client1), goredis.NewPool(client2), goredis.NewPool(client3))
//	mutex := rs.NewMutex("invoice-17", redsync.WithExpiry(5*time.Second))
//	err := mutex.LockContext(ctx)
//	…
//	ok, err := mutex.UnlockContext(ctx)
//
// The keys and values on the masters have the form of redsync's, so programs with either
// package can lock the same keys while they are being switched.
//
// The differences are:
//
//   - A failed attempt always releases the lock on all masters.
//   - Mutexes of one Redsync that wait for the same name form a queue, and only the first
//     one sends commands. WithTries also bounds the time in the queue: the greatest time
//     that this number of tries can take.
//   - Commands go to all masters at once, and the replies of a majority are enough. So
//     WithFailFast and WithShufflePools have no effect.
//   - A master that hangs is suspect, and does not delay later calls (see redlock).
//
// These options of redsync are missing because the lock would not be safe with them:
//
//   - WithValue and WithGenValueFunc: if a value is used again, the release of one attempt
//     can delete the lock of another.
//   - WithSetNXOnExtend: if a lock has expired, another client may have held it meanwhile,
//     so the caller must get an error and not the lock.
//
// Mutex.Lease returns the redlock.Lease, for features that redsync does not have.
package redsync
