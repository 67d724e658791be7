package workload

import "time"

// mutations describes the differences of a lock from the textbook. The zero value is the
// textbook lock; each planted bug sets one of the fields.
type mutations struct {
	// Step 1, the time before the first command:
	oneStart  bool // taken once, before all retries
	lateStart bool // taken when the votes have arrived
	wallClock bool // read from a clock that steps

	// The token:
	token  func(l *textbook) string // nil: 20 random bytes
	once   bool                     // one token for all retries of an acquire
	stored func(l *textbook) string // the value that masters store; nil: the token
	field  bool                     // the lock object keeps the token in a field, which its next acquire overwrites

	// Step 2, the SETs:
	set           func(key, token string, ttl time.Duration) []command // nil: SET NX PX
	driverRetries bool                                                 // the driver resends a command without a reply
	waitsForAll   bool                                                 // waits for every master, however long that takes
	drops         bool                                                 // never again asks a master that failed once

	// Step 3, the quorum:
	quorum    func(n int) int // nil: n/2+1
	reachable bool            // a quorum of the masters that answered
	raises    bool            // an error of a master makes the attempt fail, whatever the other masters vote

	// Step 4, the validity:
	noValidity  bool // the quorum is enough
	noDrift     bool // assumes that all clocks run at the same rate
	forever     bool // keys have no TTL, and leases do not end
	resets      bool // after a quorum, all keys get a new TTL, whatever tokens they store and whatever the replies are
	alwaysValid bool // a lease claims to be valid at any time

	// Step 5, the release:
	release         func(key, token string, ttl time.Duration) []command // nil: compare-and-delete
	noRollback      bool                                                 // no release after a failed attempt
	unlessRefused   bool                                                 // after a failed attempt, unless all masters refused it
	onlyBelieved    bool                                                 // only on the masters that voted yes
	overtaking      bool                                                 // on another connection than the SET
	onlyWhileWanted bool                                                 // not if the caller's context has ended
	reuses          bool                                                 // grants a lease again if its release was cancelled
	loads           bool                                                 // loads the script when the client starts, and never again
	unconfirmed     bool                                                 // succeeds, whatever the masters reply

	// Several holders:
	shared *sharedScripts // nil: a mutex

	// Several keys at once:
	holdsAndWaits bool // in the order of the caller; the keys that it has stay while it waits for the next
	forgetsTaken  bool // no release of the keys before one that was refused
	missesKeys    bool // only the first key must be granted
	extendsFirst  bool // an extension extends the first key alone

	// Waiting:
	fair   bool // in a queue
	barges bool // the first attempt ignores the queue

	// Retries:
	fixedDelay bool
	oversleeps bool // every other delay lasts for a TTL
	noDelay    bool
	oneWaiter  bool // a release wakes only the latest acquire of the lock object; its others sleep for a TTL

	// The caller's deadline:
	abandons   bool // the attempts go on when the caller has given up
	locksLocal bool // a local mutex for each key, which an acquire that gives up does not unlock

	// Extension:
	extend         func(key, token string, ttl time.Duration) []command // nil: compare-and-pexpire
	extendLies     bool                                                 // succeeds, whatever the masters reply
	extendLate     bool                                                 // succeeds, however late it is
	extendAcquires bool                                                 // is an acquire with the same token
	extendReleased bool                                                 // also extends a lease that was released

	// Renewal in the background:
	renews        bool // after each third of a TTL, as often as a lease may be extended
	renewsForever bool
	untold        bool // the holder is not notified that a renewal failed
	patient       bool // renewals that failed count as success, up to a number of them
	tellsLate     bool // a renewal that failed is followed by a pause of a TTL, and the holder is notified after that
	outlives      bool // the release does not stop the renewal

	// Fencing:
	noWriteBack bool // the highest counter is not written back
}
