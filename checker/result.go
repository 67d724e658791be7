package checker

import "time"

// Verdict is the decision on one property.
type Verdict string

// The verdicts.
const (
	Violated Verdict = "violated"
	Holds    Verdict = "holds"   // no violation was found, and the run has the evidence that the property needs
	Unknown  Verdict = "unknown" // the run was interrupted, or the checker could not decide; Why says why
	Invalid  Verdict = "invalid" // the run has too little evidence; Why says what is missing
)

// The properties, in the order in which reports list them.
var (
	UniqueTokens    = Property{"unique-tokens", "L1", "one token belongs to one acquisition", false}
	Quorum          = Property{"quorum", "L1", "an acquire returns a lease only with the yes answers of a quorum of masters", true}
	KeyLifetime     = Property{"key-lifetime", "L1", "a master keeps no token longer than its TTL", true}
	OwnKeys         = Property{"own-keys", "L1", "no one releases or extends another's key", true}
	MinValidity     = Property{"min-validity", "L1", "while a lease is relied on, a quorum of masters stores its token", true}
	MutualExclusion = Property{"mutual-exclusion", "L2", "holds of different tokens on one key are disjoint", false}
	DeadOnArrival   = Property{"dead-on-arrival", "L2", "no acquire returns a lease that is over", false}
	BeliefExclusion = Property{"belief-exclusion", "L3", "critical sections on one key are disjoint", false}
	Notified        = Property{"notified", "L3", "a client whose lease is over is told, and begins nothing more under it", false}
	NoStaleWrite    = Property{"no-stale-write", "L4", "the resource applies no write of a lease after one of a later lease", false}
	FencedWrites    = Property{"fenced-writes", "L5", "a resource that rejects lower fencing tokens applies no write of a lease after one of a later lease", false}
	NoLostUpdate    = Property{"no-lost-update", "RMW", "where the resource compares and sets, no update rests on a value that another has replaced", false}
	FencingMonotone = Property{"fencing-monotone", "FM", "a later lease has a higher fencing token", false}
	Extension       = Property{"extension", "EXT", "an extension is granted only while the lease is valid, by a quorum", false}
	Continuity      = Property{"continuity", "EXT", "an extension revives no key that was gone", true}
	DeadlockFree    = Property{"deadlock-freedom", "DF", "once faults have healed, every key can be acquired again", false}
	HolderLoss      = Property{"holder-loss", "DF", "a key whose holder is gone is granted to another within a bound", false}
	Availability    = Property{"availability", "AV", "once faults have healed, every acquire succeeds within a bound", false}
	MinorityFailure = Property{"minority-failure", "AV", "while only a minority of masters fails, a client that asks is granted the lock within a bound", false}
	Progress        = Property{"progress", "AV", "while nothing is wrong and nobody holds the lock, a client that asks is granted it soon", false}
	QuorumGranted   = Property{"quorum-granted", "AV", "an attempt that a quorum voted for in time is granted", true}
	OrphanKeys      = Property{"orphan-keys", "AV", "masters do not go on storing a key that its owner no longer needs", true}
	GhostKeys       = Property{"ghost-keys", "AV", "no master stores a key because it executed the SET after the release", true}
	Returns         = Property{"returns", "AV", "every call of the lock returns within its deadline and a bound", false}
	NoCrash         = Property{"no-crash", "AV", "no call of the lock panics", false}
)

// Properties lists all properties, in the order in which reports list them.
var Properties = []Property{
	UniqueTokens, Quorum, KeyLifetime, OwnKeys, MinValidity, MutualExclusion, DeadOnArrival, BeliefExclusion, Notified, NoStaleWrite, FencedWrites, NoLostUpdate,
	FencingMonotone, Extension, Continuity, DeadlockFree, HolderLoss, Availability, MinorityFailure, Progress, QuorumGranted, OrphanKeys, GhostKeys, Returns, NoCrash,
}

// judges holds the function that judges each property. It returns nil if the run did not exercise
// the property. Mutual exclusion is not in it, since it is judged twice: see checkPacked.
var judges = map[Property]func(*run) *judgement{
	UniqueTokens: (*run).uniqueTokens, Quorum: (*run).quorumOfYes,
	KeyLifetime: (*run).keyLifetime, OwnKeys: (*run).ownKeys, MinValidity: (*run).minValidity,
	DeadOnArrival:   (*run).deadArrivals,
	BeliefExclusion: (*run).beliefExclusion, Notified: (*run).notified,
	NoStaleWrite: (*run).noStaleWrite, FencedWrites: (*run).fencedWrites, NoLostUpdate: (*run).noLostUpdate, FencingMonotone: (*run).fencingMonotone,
	Extension: (*run).extension, Continuity: (*run).continuity,
	DeadlockFree: (*run).deadlockFree, HolderLoss: (*run).holderLoss,
	Availability: (*run).availability, MinorityFailure: (*run).minorityFailure, Progress: (*run).progress, QuorumGranted: (*run).quorumGranted,
	OrphanKeys: (*run).orphanKeys, GhostKeys: (*run).ghostKeys,
	Returns: (*run).returns, NoCrash: (*run).noCrash,
}

// Result is the verdict on one property.
type Result struct {
	Property
	Key        string      `json:"key,omitempty"` // the key of the first violation
	Verdict    Verdict     `json:"verdict"`
	Why        string      `json:"why"`                  // one sentence
	Finding    string      `json:"finding,omitempty"`    // if Verdict is Holds: Why without the evidence and the faults
	Faults     string      `json:"-"`                    // if Verdict is Holds: which faults took effect, in words; the same for all properties of a run
	Checked    int         `json:"checked"`              // how many leases, sections, writes or acquires were judged
	Evidence   []Evidence  `json:"evidence,omitempty"`   // the evidence that the property needs to hold, and how much of it the run had
	Short      *Evidence   `json:"-"`                    // if too little evidence is all that keeps Verdict from Holds: the first of Evidence that it lacks
	Count      int         `json:"count,omitempty"`      // how many violations were found
	Violations []Violation `json:"violations,omitempty"` // the first MaxViolations violations, in order of time
	Others     []Mark      `json:"-"`                    // the violations after these, without reasons
}

// Mark is a violation without its reason.
type Mark struct {
	Key       string
	At, Until time.Duration
	Clients   []string
	Op        int   // the first line of its evidence
	Cause     Cause // zero: it was not looked for, see MaxCaused
	Faults    []int // ids of the faults that explain it; nil if Cause is zero
}

// MaxViolations is the maximum number of violations that a Result contains in full.
const MaxViolations = 50

// MaxCaused is the maximum number of further violations of a Result whose cause is looked for.
const MaxCaused = 950
