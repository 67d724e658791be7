// Package redlock implements a distributed lock on independent Redis masters. It follows the
// Redlock algorithm of the page "Distributed Locks with Redis" in the Redis documentation
// (called distlock below) completely, for any number of masters, also for a single one.
//
//	masters := []*redis.Client{…}              // go-redis clients, one per master
//	locks, err := redlock.New(masters)
//	lease, err := locks.Lock(ctx, "invoice-17") // waits until ctx ends
//	defer lease.Unlock(ctx)
//	work(lease.Context())                       // cancelled when the lease is over
//
// Do extends the lease while the work runs, and releases it afterwards:
//
//	err := locks.Do(ctx, "invoice-17", func(ctx context.Context) error { … })
//
// Most programs need no more than [New] with [WithTTL], the methods Lock, TryLock and Do of [Client], the methods Context,
// Extend and Unlock of [Lease], and [ErrTaken]. [WithFencing] makes tokens for a resource that checks them. [Hooks] and
// Client.Health are for operators; [NewWithMasters] and package protocol are for other transports and for simulators.
//
// # Guarantees
//
// No two leases on one key are valid at the same time, on two conditions: the rates of
// clocks differ by less than the allowance (WithDrift), and no master loses a key that it
// has acknowledged before the key's TTL has passed. The second condition depends on the
// masters' persistence: it needs appendfsync always, or restarts that are delayed by the TTL.
//
// The lock does not guarantee that a client that is stopped in its critical section
// notices the end of its lease before it writes. Check Lease.Context before each effect.
// Where a stale write would do harm, let the resource check fencing tokens (WithFencing).
// On most systems the monotonic clock stands still while the machine sleeps, so a lease
// can look valid for too long afterwards.
//
// # Failures of masters
//
// A quorum is a majority of all masters, not of those that answer. While fewer masters are
// available, Lock retries and TryLock fails with ErrNoQuorum. A minority that is down or
// does not answer delays nothing, because the other masters decide.
//
// A master is suspect if it does not reply within the timeout (WithTimeout), cannot be
// connected to, or executes no commands (LOADING, READONLY, WRONGPASS). A suspect master
// gets no commands, and its vote is an error at once, until it answers a probe. Probes back
// off exponentially, to one per second. Client.Health and WithSuspect report the state.
//
// Every failed attempt and every Unlock releases the lock on all masters, whatever they voted
// and even if the caller's context has ended. The release is a script that deletes the key
// only if it stores the token of this attempt. If a master does not answer a release, the
// Client repeats it for a minute, or until the key is certainly gone. A key that remains
// after that expires with its TTL.
//
// # Contention
//
// Callers of one Client that wait for the same key form a queue, first come, first served,
// and only the first one sends attempts to the masters. So share one Client in a process.
// Waiters in different processes retry after a random delay (WithRetryDelay), or when
// they are notified of a release (WithWakeups).
//
// # What is missing
//
// There are no read-write locks and no semaphores: a quorum of masters cannot count
// holders that come and go, and a holder that crashed would block everybody. There are
// no re-entrant locks: code that shares one lock can share its lease, for example as a
// function argument.
//
// # Errors
//
// Use errors.Is to find out why a call failed, and errors.As with an *Error for the votes
// of the masters. The error of each master that failed is wrapped, too.
//
//   - TryLock fails with ErrTaken, ErrNoQuorum, ErrExpired or ErrClosed, and with
//     WithFencing also with ErrLost.
//   - Lock retries these until its context ends, and then returns the error of the context
//     together with the one of the last attempt. It returns earlier with ErrRetryLimit, if
//     WithMaxAttempts is set, and with ErrClosed.
//   - Extend fails with ErrNoQuorum, ErrLost, ErrExpired, ErrNotHeld, ErrExtensionLimit or
//     ErrClosed.
//   - Unlock fails with ErrNotHeld, ErrNoQuorum or ErrClosed.
//   - The cause of a lease's context is ErrReleased, ErrExpired, ErrLost or
//     ErrExtensionLimit.
//   - LockAll, Leases.Unlock and Do may join several errors.
//
// # Implementation
//
// A Client turns calls into attempts. An attempt (attempt.go) performs the five steps of
// distlock. It is written against two interfaces: Masters ("send this command to all masters,
// and yield their votes as they arrive") and Runtime (time, waiting, goroutines, randomness).
// New makes Masters of go-redis clients and uses real time. A simulator provides its own
// implementations of both and runs the same code.
//
//	Client ──► attempt ──► Masters ──► SET key token NX PX ttl on every master
//	              │            └─────► Vote, Vote, Vote …
//	              └──► Lease ──► Extend, Unlock (same token, same conversation)
//
// For real masters, package internal/transport sends the commands of all goroutines through
// the clients that were given to New: many in one pipeline, and in order.
package redlock
