package workload

import "time"

// mutations is by what the textbook lock differs from the text. The zero value differs in
// nothing: each planted bug is the textbook with one of these set.
type mutations struct {
	// Step 1, the time before the first command.
	oneStart  bool // taken once, before all retries
	lateStart bool // taken when the votes are in
	wallClock bool // read from a clock that steps

	// The token.
	token  func(l *textbook) string // nil: 20 random bytes
	once   bool                     // one token for all retries of an acquire
	stored func(l *textbook) string // what masters store; nil: the token

	// Step 2, the SETs.
	set           func(key, token string, ttl time.Duration) []command // nil: SET NX PX
	driverRetries bool                                                 // what got no answer is sent again by the driver
	waitsForAll   bool                                                 // until every master has answered, however long that takes

	// Step 3, the quorum.
	quorum    func(n int) int // nil: n/2+1
	reachable bool            // … of the masters that answered
	raises    bool            // a master's error is an exception, whatever the others say

	// Step 4, the validity.
	noValidity  bool // the quorum is enough
	noDrift     bool // clocks are taken to run alike
	forever     bool // keys have no TTL, and leases no end
	resets      bool // once there is a quorum, all keys get a new TTL, whoever owns them and whatever the replies are
	alwaysValid bool // a lease says that it is valid, whatever the time is

	// Step 5, the release.
	release         func(key, token string, ttl time.Duration) []command // nil: compare-and-delete
	noRollback      bool                                                 // none after a failed attempt
	onlyUnanswered  bool                                                 // after a failed attempt only if a master did not answer
	onlyBelieved    bool                                                 // only where the SET was answered with yes
	overtaking      bool                                                 // by another connection than the SET's
	onlyWhileWanted bool                                                 // not if the caller's context has ended
	loads           bool                                                 // its script is loaded when the client starts, and never again

	// Waiting.
	fair bool // in a queue

	// Retries.
	fixedDelay bool

	// Extension.
	extend         func(key, token string, ttl time.Duration) []command // nil: compare-and-pexpire
	extendLies     bool                                                 // it succeeds, whatever the masters say
	extendLate     bool                                                 // it succeeds, however late it is
	extendAcquires bool                                                 // it is an acquire with the same token

	// Renewal in the background.
	renews        bool // each third of a TTL, as often as a lease may be extended
	renewsForever bool
	untold        bool // the holder is not notified that a renewal failed
	outlives      bool // the release does not stop the renewal

	// Fencing.
	noWriteBack bool // the highest counter is not written back
}
