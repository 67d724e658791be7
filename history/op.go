package history

import "time"

// Type says whether a line begins an operation, or how the operation ended.
type Type string

// The types.
const (
	Invoke Type = "invoke" // the process begins the operation
	OK     Type = "ok"     // the operation happened
	Fail   Type = "fail"   // the operation did not happen
	Info   Type = "info"   // the outcome is unknown, or (nemesis, masters) the line is a report
)

// The operations (field f). The nemesis records under the name of its fault.
const (
	FAcquire  = "acquire"  // client: ok value is Token, ValidUntil, Fence
	FExtend   = "extend"   // client: ok value is Token, ValidUntil
	FRelease  = "release"  // client: fail means that a majority no longer held the token
	FEnter    = "enter"    // client: the critical section begins (info: a point in time)
	FLeave    = "leave"    // client: the critical section ends, or ended Delay ago
	FLost     = "lost"     // client: its lock reported Delay ago that its lease is over (info; Error: why)
	FRead     = "read"     // client: reads the guarded resource
	FWrite    = "write"    // client: writes to the guarded resource
	FMark     = "mark"     // resource: stores this token; with compare-and-set, it then applies only writes with the token
	FApply    = "apply"    // resource: a write took effect (ok) or was refused by its fence or its mark (fail)
	FVote     = "vote"     // master: its reply to one lock command
	FChange   = "change"   // master: a change of a key that no vote tells (info; Command: what happened, Evidence: the command that did it)
	FUnseen   = "unseen"   // harness: votes do not describe the lock, so properties that rest on them are not tested (info; Error: why)
	FPaused   = "paused"   // client: is stopped at a point (invoke), continues (ok)
	FCrash    = "crash"    // client: crashed, with the lease in Token if it had one, and restarts without memory (info)
	FClock    = "clock"    // client: its clock changed, so its lease ends at another time (info)
	FSnapshot = "look"     // master: a snapshot of its state and keys, taken without using links (info)
	FState    = "state"    // master: its process is up, paused or down
	FStall    = "stall"    // harness: its machine was too slow, so that it slept Took longer than intended, or a master gave it no answer for Took (error)
	FUnguided = "unguided" // nemesis: it saw grants but no votes, so it strikes at random from now on (info, error: why)
	FHealed   = "healed"   // nemesis: every fault has ended; the final acquisitions follow

	FDied        = "died"        // master: its process ended, another process replaced it, or it lost keys by what its owner did, without a fault (info, error: the observation)
	FElected     = "elected"     // master: it leads the others of the service from now on (info; Evidence: what it said; Took: within that time before this line)
	FUnmodelled  = "unmodelled"  // master: a client sent a command that the simulated master does not know, so the run proves nothing from here on (info, error: its name)
	FRefused     = "refused"     // master: it refused a command that no lock sends, or (Evidence: ByRules) that the rules of the client's user do not allow, or its link a connection of another user of the machine (info; Client: whose link; Command: such as FLUSHALL, or "" for a connection; error: the reply)
	FBroke       = "broke"       // client: its program broke the protocol, so the run proves nothing from here on (info, error: the line)
	FStepped     = "stepped"     // harness: somebody set the clock of its machine, which its masters use, too (info, error: by how much; Took: within that time before this line)
	FHung        = "hung"        // client: a call did not return within its deadline and a bound (info: Command, Took; Evidence: the stack)
	FPanicked    = "panicked"    // client: the lock panicked (info, error: the panic's value; Command; Evidence: the stack)
	FRule        = "rule"        // harness: the lock's commands broke a rule of lockpick watch, a hint that explains violations (info; Command: the rule, Value: how often, Key, Evidence: the commands of the first time)
	FInterrupted = "interrupted" // harness: the user interrupted it, and it cancelled running operations (info, error: how)
	FEnd         = "end"         // harness: the end mark, the last line of a complete history (info)
)

// ByRules is the evidence of an FRefused whose command the rules of the scenario's users (ACL) do not allow.
const ByRules = "acl"

// Processes that are not clients ("c1", "c2", …) or masters ("m1", "m2", …).
const (
	Nemesis  = "nemesis"
	Resource = "resource"
	Harness  = "harness"
)

// Commands of a vote.
const (
	CommandSet       = "set"       // SET key token NX PX ttl (with fencing: and INCR)
	CommandExtend    = "extend"    // compare-and-pexpire
	CommandRelease   = "release"   // compare-and-delete
	CommandRead      = "read"      // GET with a comparison, by locks that check a key before they delete it
	CommandLeave     = "leave"     // a waiter gives up its place in the lock's queue
	CommandWriteBack = "writeback" // raises the fencing counter to the maximum, if the key still stores the token
)

// Op is an operation: one line of a history.
type Op struct {
	Index   int           `json:"index"`
	Time    time.Duration `json:"time"` // ns since the run began, monotonic
	Process string        `json:"process"`
	Type    Type          `json:"type"`
	F       string        `json:"f"`
	Key     string        `json:"key,omitempty"`
	Value   *Value        `json:"value,omitempty"`
	Error   string        `json:"error,omitempty"`
}

// Value contains the fields of an operation besides its key. One flat struct for all operations
// keeps the codec simple and the lines short; an absent field is zero.
type Value struct {
	// acquire, extend, release, enter, leave, read, mark, write, apply, vote
	Token      string        `json:"token,omitempty"`
	ValidUntil time.Duration `json:"valid_until,omitempty"` // ns since the run began
	Fence      int64         `json:"fence,omitempty"`

	// acquire
	Fixed   bool `json:"fixed,omitempty"`    // the lock has no extend
	AtLeast bool `json:"at_least,omitempty"` // the lease may be valid for longer: nobody saw when the attempt that succeeded began

	// acquire, extend
	Mode    string `json:"mode,omitempty"`    // ModeRead; empty: exclusive, or (extend) as before
	Permits int    `json:"permits,omitempty"` // of a semaphore; 0: one

	// read, write, apply
	Value  int64 `json:"value,omitempty"`
	Fenced bool  `json:"fenced,omitempty"` // at the second resource, which checks fencing tokens

	// vote
	Client  string        `json:"client,omitempty"`
	Command string        `json:"command,omitempty"`
	Yes     bool          `json:"yes,omitempty"`  // of an info: the client had an answer that may have been a yes
	Took    time.Duration `json:"took,omitempty"` // ns from sending the command to the reply; look: from the request to the snapshot's reply
	TTL     time.Duration `json:"ttl,omitempty"`  // ns: the TTL in a SET or an extension

	// vote, look, lost, leave: ns between the event (for a vote, the arrival of the reply) and its
	// recording. The event's time is the line's time minus Delay.
	Delay time.Duration `json:"delay,omitempty"`

	// vote: the key in Redis, if it differs from the lock's name
	RedisKey string `json:"redis_key,omitempty"`

	// vote, change: the command that the master executed, without its arguments ("SET NX PX", "EVALSHA 1f2e3d4c"), if the
	// lock did not report it itself
	Form string `json:"form,omitempty"`

	// paused
	Point string `json:"point,omitempty"`

	// clock, look
	Rate   float64        `json:"rate,omitempty"`   // seconds that the client's clock counts in a true second
	Offset *time.Duration `json:"offset,omitempty"` // ns: how far the master's clock is ahead of the true time

	// state, look
	State string            `json:"state,omitempty"` // up, paused, down
	Keys  map[string]string `json:"keys,omitzero"`   // token by key, as the master stores them; nil: the keys were not read

	Expires map[string]time.Duration `json:"expires,omitzero"` // look: expiry by key, on the master's own clock, in ns since the run began; a key without an entry never expires

	// faults (see Fault)
	ID         int               `json:"id,omitempty"`
	Phase      string            `json:"phase,omitempty"` // install, heal
	Masters    []string          `json:"masters,omitempty"`
	Clients    []string          `json:"clients,omitempty"`
	Params     map[string]string `json:"params,omitempty"`
	TookEffect bool              `json:"bit,omitempty"`
	Evidence   string            `json:"evidence,omitempty"`
	Bound      time.Duration     `json:"bound,omitempty"` // healed: ns within which a free lock must be granted
}

// Foreign reports whether a master changed a key for somebody who is not a client of the run.
func (op *Op) Foreign() bool {
	return op.F == FChange && op.Value != nil && op.Value.Form != "" && op.Value.Client == ""
}

// Asks returns the mode and the permits of an acquire.
func (op *Op) Asks() (mode string, permits int) {
	if op.Value == nil {
		return "", 0
	}
	return op.Value.Mode, op.Value.Permits
}

// observed reports whether an operation is an observation of a master, which may be recorded late.
func (op *Op) observed() bool { return op.Value != nil && (op.F == FVote || op.F == FSnapshot) }

// endsHistory reports whether an operation is the end mark, which only the harness records.
func (op *Op) endsHistory() bool { return op.F == FEnd && op.Process == Harness }
