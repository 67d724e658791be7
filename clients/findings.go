package clients

import "cmp"

// Finding is a statement about a library, and the result of the program or audit that tests it.
// Programs are in the folder findings or in the Go module.
type Finding struct {
	Name      string
	Library   string
	Version   string // version tested
	Date      string // date of the test
	Level     string // of what breaks, if it is true
	Said      string
	Confirmed bool
	Shows     string // the line that the program prints; with Audit: the result of the situation

	Audit   string // the audit command that shows it instead of a program
	Run     string // the command of a run that shows it instead; a test of examples/services runs the same
	Masters int    // number of masters that the program uses
	Store   string // the store that the program uses one server of instead: etcd or ZooKeeper

	file   string     // the program, in findings/; empty: it is in the Go module
	run    [][]string // interpreters to try
	debian string     // Debian package whose version counts; empty: go.mod has the version
}

// Findings lists all findings. Each was observed three times in a row.
var Findings = []Finding{
	{Name: "redis-py-timeout-zero", Level: "L2", Library: "redis-py", Version: "4.3.4", Date: "2026-11-24", Confirmed: true, Masters: 1,
		Said:  "Lock(timeout=0): reacquire() deletes the key of the lock that is held, and returns True",
		Shows: "keys before: 1, reacquire returned True, keys after: 0",
		file:  "redis_py_timeout_zero.py", run: python, debian: "python3-redis"},
	{Name: "redis-py-failed-release", Level: "DF", Library: "redis-py", Version: "4.3.4", Date: "2026-11-24", Confirmed: true, Masters: 1,
		Said:  "a release() that fails has cleared the token before, so that a second one cannot succeed",
		Shows: "first release: NoPermissionError, token gone; second: LockError, token gone; keys after: 1",
		file:  "redis_py_failed_release.py", run: python, debian: "python3-redis"},
	{Name: "tooz-new-token", Level: "AV", Library: "tooz", Version: "3.1.0", Date: "2026-11-24", Confirmed: true, Masters: 1,
		Said:  "when the reply is lost with the connection, acquire() tries again with another token, and is refused because of its own key",
		Shows: "the only client sent 2 different requests to acquire; acquire returned False",
		file:  "tooz_new_token.py", run: python, debian: "python3-tooz"},
	{Name: "symfony-first-ttl", Level: "DF", Library: "symfony/lock", Version: "5.4.53", Date: "2026-11-24", Confirmed: true, Masters: 1,
		Said:  "RedisStore stores a key for 300 s at first, and gives it the TTL of the lock with a second command",
		Shows: "lifetime in whole minutes after the first command: 5, at most 2 s after the second: true",
		file:  "symfony_first_ttl.php", run: php, debian: "php-symfony-lock"},
	{Name: "mediawiki-clock", Level: "L2", Library: "MediaWiki RedisLockManager", Version: "1.39.17", Date: "2026-11-24", Confirmed: true, Masters: 1,
		Said:  "which locks have expired is judged by the clock of the client that asks: a client whose clock is ahead takes over a lock that is held",
		Shows: "the first: ok, a right clock: fail, a clock that is ahead: ok",
		file:  "mediawiki_clock.php", run: php, debian: "mediawiki-classes"},
	{Name: "portalocker-no-ttl", Level: "DF", Library: "portalocker", Version: "2.2.1", Date: "2026-11-24", Confirmed: true, Masters: 1,
		Said:  "RedisLock is a subscription to a channel, and has no TTL",
		Shows: "while it is held: 0 keys, 1 subscribers",
		file:  "portalocker_no_ttl.py", run: python, debian: "python3-portalocker"},
	{Name: "redsync-lock-waits", Level: "AV", Library: "redsync", Version: "4.18.1", Date: "2026-11-24", Confirmed: true, Masters: 5,
		Said:  "on go-redis' default timeouts, Lock waits for all masters: with one that hangs it takes 5 s",
		Shows: "one of 5 masters hangs: err <nil>, Lock took 5 s or more: true"},
	{Name: "redsync-grants-nobody", Level: "AV", Library: "redsync", Version: "4.18.1", Date: "2026-11-25", Confirmed: true, Masters: 5,
		Said:  "on go-redis' default timeouts, nobody is granted a lock of 2 s for 24.8 s while one of five masters hangs",
		Shows: "one of 5 masters hangs: nobody was granted the lock in 24.8s"},
	{Name: "redsync-lost-votes", Level: "EXT", Library: "redsync", Version: "4.18.1", Date: "2026-11-24", Confirmed: true, Masters: 5,
		Said:  "an extension never wins back the vote of a master that has lost the key. True by default; with the option WithSetNXOnExtend it does",
		Shows: "masters that store the key after three extensions, by default and WithSetNXOnExtend: 3, 5"},
	{Name: "redsync-extend-waits", Level: "L3", Library: "redsync", Version: "4.18.1", Date: "2026-11-24", Confirmed: true, Masters: 5,
		Said:  "on go-redis' default timeouts, an extension blocks for longer than the lease lasts, also with a context that ends with the lease",
		Shows: "a majority hangs: ExtendContext with the lease's deadline returned false, a second or more after it: true"},
	{Name: "redislock-extend-waits", Level: "L3", Library: "bsm/redislock", Version: "0.9.4", Date: "2026-11-24", Confirmed: true, Masters: 1,
		Said:  "on go-redis' default timeouts, an extension blocks for longer than the lease lasts, also with a context that ends with the lease",
		Shows: "the master hangs: Refresh with the lease's deadline failed: true, a second or more after it: true"},
	{Name: "rueidislock-cut-off", Level: "L2", Library: "rueidislock", Version: "1.0.79", Date: "2026-11-24", Confirmed: true,
		Said:  "with a TTL of 2 s, mutual exclusion (L2) is violated when the holder is cut off from its master for 4 s",
		Shows: "cut off for 5 s: c4 was granted the lock while c3 could still rely on it for 0.73 s, as its context had not ended",
		Audit: "lockpick audit --client go-rueidislock --only cut-off-holder"},
	{Name: "etcd3-type-error", Level: "AV", Library: "python3-etcd3", Version: "0.12.0", Date: "2026-11-26", Confirmed: true, Store: "etcd",
		Said:  "with tenacity 8.2.1, acquire() raises TypeError whenever another has the lock and the timeout is not 0",
		Shows: "the first: True; while it has the lock, the second with timeout 0: False, with 5 s: TypeError, without a limit: TypeError",
		file:  "etcd3_type_error.py", run: python, debian: "python3-etcd3"},
	{Name: "kazoo-timeout", Level: "AV", Library: "kazoo", Version: "2.8.0", Date: "2026-11-26", Confirmed: true, Store: "ZooKeeper",
		Said:  "acquire(timeout=T) may take much longer than T: it waits for the whole T again each time that the contender before it is gone",
		Shows: "acquire(timeout=2) took longer than 2.5 s: True",
		file:  "kazoo_timeout.py", run: python, debian: "python3-kazoo"},
	{Name: "etcd-session-done", Level: "L2", Library: "etcd client concurrency.Session", Version: "3.7.3", Date: "2026-11-26", Confirmed: true,
		Said:  "a client that is cut off from all servers is told by Done that its session is over only after another may have been granted the lock. A client that counts the time from its last answered keep-alive is not affected",
		Shows: "c3 was cut off, c2 was granted the lock at 2.51 s, and the Done of c3 was closed at 3.31 s: for 0.80 s both could rely on it",
		Run:   "lockpick run examples/services/etcd.yaml --trust --client 'lockpick-etcd done' --faults client-partition --property L2"},
	{Name: "kazoo-read-write", Level: "AV", Library: "kazoo", Version: "2.8.0", Date: "2026-11-27", Confirmed: true, Store: "ZooKeeper",
		Said:  "a ReadLock waits for WriteLocks that were asked for later, which wait for it: nobody is granted a free lock until one gives up",
		Shows: "the lock was free, and the reader was granted it only after the writer had given up: True",
		file:  "kazoo_read_write.py", run: python, debian: "python3-kazoo"},
	{Name: "symfony-semaphore-seconds", Level: "L2", Library: "symfony/semaphore", Version: "5.4.53", Date: "2026-11-28", Confirmed: true, Masters: 1,
		Said:  "RedisStore counts whole seconds: a permit may be granted to another up to a second before getRemainingLifetime() says that it is over",
		Shows: "the first has more than half a second left: true, and the second was granted the only permit: true",
		file:  "symfony_semaphore_seconds.php", run: php, debian: "php-symfony-semaphore"},
	{Name: "kazoo-kept-node", Level: "DF", Library: "kazoo", Version: "2.8.0", Date: "2026-11-28", Confirmed: true, Store: "ZooKeeper",
		Said:  "acquire(timeout=T) that gives up does not ask again to delete its node if the connection is gone meanwhile: nobody is granted the lock for as long as its session lasts",
		Shows: "the waiter was refused: True, its session lasted: True; nobody had the lock: another was granted it: False, and when that session was over: True",
		file:  "kazoo_kept_node.py", run: python, debian: "python3-kazoo"},
}

// Command returns the command line that reproduces a finding.
func (f *Finding) Command() string {
	if shown := cmp.Or(f.Audit, f.Run); shown != "" {
		return shown
	}
	return "go test -tags real ./clients -run 'TestFindings/" + f.Name + "$' -count 3 -v"
}
