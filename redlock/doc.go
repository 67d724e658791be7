// Package redlock is a distributed lock on independent Redis masters: the
// Redlock algorithm of the Redis documentation's page "Distributed Locks with
// Redis" (called distlock below), complete, for any number of masters from one.
//
//	masters := []*redis.Client{…}              // go-redis clients, one per master
//	locks, err := redlock.New(masters)
//	lease, err := locks.Lock(ctx, "invoice-17") // waits until ctx ends
//	defer lease.Unlock(ctx)
//	work(lease.Context())                       // cancelled when the lease is over
//
// or, with the lease extended while the work runs and released after it:
//
//	err := locks.Do(ctx, "invoice-17", func(ctx context.Context) error { … })
//
// # How the parts meet
//
// A Client turns calls into attempts. An attempt (attempt.go) is distlock's five
// steps, written once against two small interfaces: Masters ("send this command
// to all masters, take the votes as they come") and Runtime (time, waiting,
// spawning, randomness). Users never see them: New builds Masters from go-redis
// clients and uses real time. A simulator provides both of its own and runs the
// very same steps.
//
//	Client ──► attempt ──► Masters ──► SET key token NX PX ttl on every master
//	              │            └─────► Vote, Vote, Vote …
//	              └──► Lease ──► Extend, Unlock (same token, same conversation)
//
// On real masters a batcher per master (batcher.go) sends the commands of all goroutines
// through the client that you gave, many in one pipeline, and in order. So a release never
// overtakes its SET, and no goroutine and no timer is started per vote.
//
// # What it promises
//
// As long as clocks drift apart by less than the allowance (WithDrift), and no
// master forgets a key that it acknowledged before that key's TTL has passed, no
// two leases on one key are valid at the same time. Persistence decides about the
// second condition: fsync=always, or a restart that is delayed beyond the TTL.
//
// It does not promise that a client that is stopped in its critical section
// notices before it writes: check Lease.Context before each effect, and where a
// stale write would do harm, let the resource check fencing tokens (WithFencing).
// Nor that the clock goes on while the client's machine sleeps: the monotonic
// clock of most systems does not, and a lease looks younger after it.
//
// # When masters fail
//
// A majority of all masters, not of those that answer, must agree. While fewer are
// healthy Lock tries on, and TryLock fails, with ErrNoQuorum. A minority that is
// down or hangs costs nothing: the others decide. A master that does not reply within the
// timeout (WithTimeout), or carries nothing out (LOADING, READONLY, WRONGPASS), is suspect:
// it votes with an error at once until a probe finds that it answers. Probes back off
// exponentially, to one a second. Client.Health and Hooks.Suspect tell about it.
//
// Every attempt that fails, and every Unlock, releases the lock on all masters,
// whatever they answered and even if the caller's context has ended, by a script
// that deletes the key only if it holds the attempt's own token. Where no answer comes
// the release is pending: it is repeated for a minute, until it is sure that the key is
// gone. A key that is left all the same ends with its TTL.
//
// # When many want the same
//
// Callers of one Client wait for a key in line, first come, first served, and only the
// first asks the masters. So share one Client in a process. Between processes waiters
// ask now and then, or as soon as they hear of a release (WithWakeups).
//
// # What is not there
//
// Read-write locks and semaphores: a quorum of masters cannot count readers that come and
// go, and those that are lost hold everybody up. Re-entrant locks: two holders that share
// one lock must share its lease, which a function argument does better.
//
// # Errors
//
// TryLock fails with ErrTaken, ErrNoQuorum or ErrExpired, Lock only when its context
// ends, with that context's error and one of these; use errors.Is. The error of each
// master that had one is wrapped too, and errors.As finds an *Error with all votes.
package redlock
