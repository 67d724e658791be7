// The program lockpick with locks that have a bug that users of lock libraries reported in public, and with their
// controls, which differ in that one place. Each was written anew from the report, as small as the bug allows. They
// live on the first master.
//
//	go build -o reported . && ./reported audit --lock reader-shortens --driver virtual
//	./reported audit --lock reader-shortens-fixed --driver virtual
package main

import (
	"lockpick/cli"
	"lockpick/locktest"
	"lockpick/workload"
)

// locks are the reported bugs. make returns the lock with its bug, or its control.
var locks = []struct {
	name, bug string
	make      func(bug bool) maker
}{
	{"reader-shortens", "a read-write lock: a reader that joins shortens the TTL", rwShortReader},
	{"reader-unlocks-writer", "a read-write lock: a reader's unlock deletes the writer's lock", rwDowngrade},
	{"permits-anew", "a semaphore: its permits are declared anew when none is left", semaphoreReset},
	{"waiter-dropped", "a fair lock: a live waiter is dropped from the queue", fairDrops},
	{"inner-shortens", "a re-entrant lock: the inner lease replaces the outer one's TTL", reentrantInner},
	{"error-is-yes", "a mutex: an error while it is acquired counts as acquired", failOpenOnError},
	{"patience-is-yes", "a mutex: after its last try the client goes on as the holder", failOpenOnWait},
	{"prefix-forgotten", "a mutex: the script that releases it forgets the keys' prefix", prefixedKeys},
	{"stale-renewal", "a watchdog: an entry that is left over stops later renewals", staleRenewal},
	{"reaper", "a reaper deletes the locks of long jobs", reaper},
	{"extends-any", "an extension is SET XX, which asks for any holder", extendXX},
	{"read-then-write", "an extension reads the key and then writes it back", readWriteBack},
	{"renews-none", "a watchdog renews all keys with one script, which a cluster refuses", renewAll},
	{"watch-shared", "WATCH on a connection that another goroutine uses, too", sharedWatch},
	{"count-stays", "a re-entrant lock: an attempt that no replica has leaves its count", waitCount},
	{"error-spin", "a master that answers with an error is asked again at once", errorSpin},
	{"presence", "presence on a channel: the subscription connects again and nobody is told", presence},
	{"wall-clock", "a semaphore: permits expire by the clients' clocks", wallClock},
	{"script-forgotten", "NOSCRIPT while the lock is acquired is an error for ever", noScript},
}

// kinds are the locks as the program lists them.
func kinds() []workload.Implementation {
	var all []workload.Implementation
	for _, l := range locks {
		all = append(all, locktest.Kind(l.name, l.bug, checked(l.make(true))),
			locktest.Kind(l.name+"-fixed", "without that bug", checked(l.make(false))))
	}
	for i := range all {
		all[i].Masters = workload.OneMaster
	}
	return all
}

func main() { cli.Main(kinds()...) }
