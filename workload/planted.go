package workload

import "fmt"

// planted lists bugs that were found in real libraries, each planted alone into the
// textbook lock.
var planted = []Implementation{
	{
		Name: "redlock-reachable-quorum", Bug: "b1", Twin: "textbook",
		Summary: "a quorum of the masters that answer (redlock-py #6)",
		New:     textbookWith(mutations{reachable: true}),
	},
	{
		Name: "redlock-extend-lies", Bug: "b2", Twin: "textbook", Claims: []int{52},
		Summary: "an extension that failed is counted as success (redsync #61)",
		New:     textbookWith(mutations{extendLies: true}),
	},
	{
		Name: "redlock-no-validity", Bug: "b3", Twin: "textbook", Claims: []int{14},
		Summary: "a quorum is success, however long it took (node-redlock #296)",
		New:     textbookWith(mutations{noValidity: true}),
	},
	{
		Name: "redlock-one-start", Bug: "b4", Twin: "textbook",
		Summary: "the start time is taken once, before all retries (node-redlock #299)",
		New:     textbookWith(mutations{oneStart: true}),
	},
	{
		Name: "redlock-extend-late", Bug: "b5", Twin: "textbook",
		Summary: "an extension does not look whether the validity is over (redsync #71)",
		New:     textbookWith(mutations{extendLate: true}),
	},
	{
		Name: "redlock-extend-recreates", Bug: "b6", Twin: "textbook", Claims: []int{53},
		Summary: "an extension sets a key that has lapsed anew (redlock-rb #36, RedLock.net #49)",
		New:     textbookWith(mutations{extend: recreate, extendLate: true}),
	},
	{
		Name: "redlock-always-valid", Bug: "b7", Twin: "textbook",
		Summary: "a lease says that it is valid after its end (redsync #65, #72)",
		New:     textbookWith(mutations{alwaysValid: true}),
	},
	{
		Name: "redlock-release-believed", Bug: "b8", Twin: "textbook", Claims: []int{24},
		Summary: "releases only where the SET was answered with yes (Redisson #1606, redlock-rb #5)",
		New:     textbookWith(mutations{onlyBelieved: true}),
	},
	{
		Name: "redlock-no-rollback", Bug: "b9", Twin: "textbook",
		Summary: "an attempt that failed is not released (redlock-py)",
		New:     textbookWith(mutations{noRollback: true}),
	},
	{
		Name: "redlock-minority-error", Bug: "b10", Twin: "textbook", Claims: []int{17},
		Summary: "an error of any master becomes an exception, and the lock stays (redlock-rb #134)",
		New:     textbookWith(mutations{raises: true}),
	},
	{
		Name: "redlock-setnx-expire", Bug: "b11", Twin: "textbook",
		Summary: "SETNX, and then PEXPIRE (ShedLock #65, redis-py #554)",
		New:     textbookWith(mutations{set: setNXThenExpire}),
	},
	{
		Name: "redlock-get-del", Bug: "b12", Twin: "textbook",
		Summary: "releases by a GET, and then a DEL (spring-integration #8699)",
		New:     textbookWith(mutations{release: getThenDelete}),
	},
	{
		Name: "redlock-plain-del", Bug: "b12", Twin: "textbook",
		Summary: "releases by a DEL without the token (ShedLock #2583)",
		New:     textbookWith(mutations{release: plainDelete}),
	},
	{
		Name: "redlock-weak-token", Bug: "b13", Twin: "textbook",
		Summary: "a token that repeats: one of four (php-lock #9, node-redlock #22)",
		New:     textbookWith(mutations{token: func(l *textbook) string { return fmt.Sprintf("weak-%d", l.random(4)) }}),
	},
	{
		Name: "redlock-wall-clock", Bug: "b14", Twin: "textbook", Claims: []int{13, 50},
		Summary: "reads time from the wall clock (redlock-rb #50)",
		New:     textbookWith(mutations{wallClock: true}),
	},
	{
		Name: "redlock-quorum-half", Bug: "b15", Twin: "textbook", Claims: []int{21},
		Summary: "half of the masters are a quorum, where their number is even",
		New:     textbookWith(mutations{quorum: func(n int) int { return (n + 1) / 2 }}),
	},
	{
		Name: "redlock-no-drift", Bug: "b16", Twin: "textbook", Claims: []int{12},
		Summary: "no allowance for clocks that run at different rates",
		New:     textbookWith(mutations{noDrift: true}),
	},
	{
		Name: "redlock-fixed-delay", Bug: "b17", Twin: "textbook", Claims: []int{19},
		Summary: "the same delay between all attempts (redsync #16, #67)",
		New:     textbookWith(mutations{fixedDelay: true}),
	},
	{
		Name: "redlock-release-overtakes", Bug: "b18", Twin: "textbook",
		Summary: "a release goes by another connection, and may overtake its own SET (redsync #133)",
		New:     textbookWith(mutations{overtaking: true}),
	},
	{
		Name: "redlock-cancelled-release", Bug: "b19", Twin: "textbook",
		Summary: "what cancels the acquire cancels the release after it (open-match #1578)",
		New:     textbookWith(mutations{onlyWhileWanted: true}),
	},
	{
		Name: "redlock-renews-forever", Bug: "b20", Twin: "textbook-renewing", Claims: []int{55},
		Summary: "a watchdog that extends without end, also for a holder that hangs (RedLock.net #68)",
		New:     textbookWith(mutations{renewsForever: true}),
	},
	{
		Name: "redlock-renews-untold", Bug: "b21", Twin: "textbook-renewing",
		Summary:  "a watchdog that does not tell the holder that the lease is lost (RedLock.net #92, #93)",
		Renewals: maxExtensions, New: textbookWith(mutations{renews: true, untold: true}),
	},
	{
		Name: "redlock-waits-for-all", Bug: "b22", Twin: "textbook",
		Summary: "waits for the reply of every master, one of which hangs (redsync #140, Redisson #1636)",
		New:     textbookWith(mutations{waitsForAll: true}),
	},
	{
		Name: "redlock-shared-token", Bug: "b23", Twin: "textbook",
		Summary: "the lock object keeps its token in a field, which an acquire by another thread overwrites (redis-py with thread_local=False)",
		New:     textbookWith(mutations{field: true}),
	},
	{
		Name: "redlock-process-token", Bug: "b24", Opaque: true, Twin: "textbook",
		Summary: "the token is the id of the process, so that all lock objects in it have the same",
		New:     textbookWith(mutations{stored: processID, set: setNXPX, release: compareAndDelete, extend: compareAndExpire}),
	},
	{
		Name: "redlock-extend-released", Bug: "b25", Twin: "textbook",
		Summary: "an extension does not look whether the lease was released, and sets the key anew",
		New:     textbookWith(mutations{extend: recreate, extendReleased: true}),
	},
	{
		Name: "redlock-own-is-granted", Bug: "b26", Opaque: true, Twin: "textbook",
		Summary: "an acquire counts the key that the same lock object has set before as its own",
		New:     textbookWith(mutations{stored: objectID, set: setOrOwn, release: compareAndDelete, extend: compareAndExpire}),
	},
	{
		Name: "redlock-reuses-cancelled", Bug: "b27", Twin: "textbook",
		Summary: "a lease whose release was cancelled is handed out again, though masters may have released it",
		New:     textbookWith(mutations{reuses: true}),
	},
	{
		Name: "redlock-missed-wakeup", Bug: "b37", Twin: "textbook",
		Summary: "a waiter misses a release that comes before it listens, and sleeps until the key would have expired",
		Retry:   delayMax, New: textbookWith(mutations{oversleeps: true}),
	},
	{
		Name: "redlock-renews-blindly", Bug: "b42", Twin: "textbook-renewing",
		Summary:  "the watchdog takes a renewal that failed for one that worked",
		Renewals: maxExtensions, New: textbookWith(mutations{renews: true, extendLies: true}),
	},
	{
		Name: "redlock-drops-masters", Bug: "b43", Twin: "textbook",
		Summary: "a master that failed once is never asked again",
		New:     textbookWith(mutations{drops: true}),
	},
	{
		Name: "redlock-release-unchecked", Bug: "b44", Twin: "textbook",
		Summary: "a release succeeds, whatever the masters reply",
		New:     textbookWith(mutations{unconfirmed: true}),
	},
	{
		Name: "redlock-whole-seconds", Bug: "b45", Twin: "textbook",
		Summary: "keys get the whole seconds of the TTL, and leases get all of it",
		New:     textbookWith(mutations{set: setWholeSeconds}),
	},
	{
		Name: "redlock-extends-whole-seconds", Bug: "b46", Twin: "textbook",
		Summary: "an extension gives keys the whole seconds of the TTL, and leases all of it",
		New:     textbookWith(mutations{extend: expireWholeSeconds}),
	},
	{
		Name: "redlock-ttl-overflows", Bug: "b47", Twin: "textbook",
		Summary: "a TTL of more milliseconds than 32 bits hold overflows",
		New:     textbookWith(mutations{set: setIn32Bits}),
	},
	{
		Name: "redlock-key-cut", Bug: "b48", Twin: "textbook",
		Summary: "a release cuts the name of the key after 64 bytes",
		New:     textbookWith(mutations{release: deleteCutName}),
	},
	{
		Name: "redlock-key-braces", Bug: "b49", Twin: "textbook",
		Summary: "a release drops the braces in the name of the key",
		New:     textbookWith(mutations{release: deleteWithoutBraces}),
	},
	{
		Name: "redlock-abandons", Bug: "b50", Twin: "textbook",
		Summary: "the attempts of a caller who has given up go on, and what they are granted nobody releases",
		New:     textbookWith(mutations{abandons: true}),
	},
	{
		Name: "redlock-local-mutex", Bug: "b51", Twin: "textbook",
		Summary: "an acquire that gives up leaves the local mutex of its key locked",
		New:     textbookWith(mutations{locksLocal: true}),
	},
	{
		Name: "redlock-renews-patiently", Bug: "b52", Twin: "textbook-renewing",
		Summary:  "the watchdog gives up after five renewals that failed, and not when the lease ends",
		Renewals: maxExtensions, New: textbookWith(mutations{renews: true, patient: true}),
	},
	{
		Name: "redlock-tells-late", Bug: "b53", Twin: "textbook-renewing",
		Summary:  "the watchdog tells the holder of the loss at the next renewal, and that is late after one that failed",
		Renewals: maxExtensions, New: textbookWith(mutations{renews: true, tellsLate: true}),
	},
	{
		Name: "redlock-one-waiter", Bug: "b54", Twin: "textbook",
		Summary: "the lock object remembers one waiter of each key, and wakes no other",
		Retry:   delayMax, New: textbookWith(mutations{oneWaiter: true}),
	},
	{
		Name: "redlock-no-delay", Bug: "b55", Twin: "textbook",
		Summary: "no delay between attempts",
		New:     textbookWith(mutations{noDelay: true}),
	},
	{
		Name: "redlock-quoted-seconds", Bug: "b56", Twin: "textbook",
		Summary: "keys whose names have to be quoted get the whole seconds of the TTL, and leases get all of it",
		New:     textbookWith(mutations{set: setOddInSeconds}),
	},
	{
		Name: "fair-one-token", Masters: OneMaster, Fair: true, Twin: "fair", Claims: []int{27},
		Summary:    "the fair lock with one token for all retries of an acquire",
		DeadWaiter: patience, New: singleWith(mutations{fair: true, once: true}),
	},
	{
		Name: "fair-barging", Bug: "b34", Masters: OneMaster, Fair: true, Twin: "fair",
		Summary:    "the fair lock tries once without a look at the queue before it takes a place there",
		DeadWaiter: patience, New: singleWith(mutations{fair: true, barges: true}),
	},
}
