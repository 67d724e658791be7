package history

import "time"

// Type is the meaning of an operation's line.
type Type string

const (
	Invoke Type = "invoke" // the process begins
	OK     Type = "ok"     // it happened
	Fail   Type = "fail"   // it did not happen
	Info   Type = "info"   // the outcome is unknown, or (nemesis, masters) the line is a report
)

// The operations (field f). The nemesis records under the name of its fault.
const (
	FAcquire  = "acquire"  // client: ok value is Token, ValidUntil, Fence
	FExtend   = "extend"   // client: ok value is Token, ValidUntil
	FRelease  = "release"  // client: fail means that a majority no longer held the token
	FEnter    = "enter"    // client: the critical section begins (info: a point in time)
	FLeave    = "leave"    // client: it ends; Delay ago, if its lock said so then
	FLost     = "lost"     // client: its lock said Delay ago that its lease is over (info; Error: why)
	FRead     = "read"     // client: from the guarded resource
	FWrite    = "write"    // client: to the guarded resource
	FMark     = "mark"     // resource: it carries this token now, and with compare-and-set applies only writes with it
	FApply    = "apply"    // resource: a write took effect (ok) or was refused by its fence or its mark (fail)
	FVote     = "vote"     // master: its reply to one lock command
	FPaused   = "paused"   // client: stopped at a point (invoke), continues (ok)
	FCrash    = "crash"    // client: it has ended, with the lease in Token if it had one, and restarts without memory (info)
	FClock    = "clock"    // client: its clock runs at another rate now, and its lease ends at another time (info)
	FLook     = "look"     // master: a snapshot of its state and keys, taken without using links (info)
	FState    = "state"    // master: its process is up, paused or down
	FStall    = "stall"    // harness: it slept longer than intended, by Took, because its machine was too slow
	FUnguided = "unguided" // nemesis: it saw grants and no votes, so it strikes at random from now on (info, error: why)
	FHealed   = "healed"   // nemesis: every fault has ended; the final acquisitions follow

	FDied        = "died"        // master: its process ended, or another one replaced it, without a fault (info, error: what was seen)
	FStepped     = "stepped"     // harness: somebody set the clock of its machine, which is its masters', too (info, error: by how much; Took: it was not so that long before)
	FHung        = "hung"        // client: a call did not return within its deadline and a bound (info: Command, Took; Evidence: the stack)
	FPanicked    = "panicked"    // client: the lock panicked (info, error: the panic's value; Command; Evidence: the stack)
	FInterrupted = "interrupted" // harness: it was told to stop, and cancelled running operations (info, error: by what)
	FEnd         = "end"         // harness: the last line of a history that is complete (info)
)

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
	CommandRead      = "read"      // GET with a comparison: of locks that check a key before they delete it
	CommandLeave     = "leave"     // a waiter gives up its place in the lock's queue
	CommandWriteBack = "writeback" // raises the fencing counter to the maximum, if the key still stores the token
)

// Op is one line of a history.
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
	ValidUntil time.Duration `json:"valid_until,omitempty"` // ns, the run's time base
	Fence      int64         `json:"fence,omitempty"`

	// read, write, apply
	Value  int64 `json:"value,omitempty"`
	Fenced bool  `json:"fenced,omitempty"` // of the twin resource that checks fencing tokens

	// vote
	Client  string        `json:"client,omitempty"`
	Command string        `json:"command,omitempty"`
	Yes     bool          `json:"yes,omitempty"`
	Took    time.Duration `json:"took,omitempty"` // ns from sending to the reply; of a look, too
	TTL     time.Duration `json:"ttl,omitempty"`  // ns: the lifetime that a SET or an extension asked for

	// vote, look, lost, leave: ns between the event (the reply came) and its recording. The event's time
	// is the line's time less this.
	Delay time.Duration `json:"delay,omitempty"`

	// vote: the key on the master, if it is not the lock's name
	RedisKey string `json:"redis_key,omitempty"`

	// paused
	Point string `json:"point,omitempty"`

	// clock, look
	Rate   float64        `json:"rate,omitempty"`   // seconds that the client's clock counts in a true one
	Offset *time.Duration `json:"offset,omitempty"` // ns: how far the master's clock is ahead of the true one

	// state, look
	State string            `json:"state,omitempty"` // up, paused, down
	Keys  map[string]string `json:"keys,omitzero"`   // key to token, as the master itself stores them; nil: it was not asked

	Expires map[string]time.Duration `json:"expires,omitzero"` // look: key to when it ends, on the master's own clock, as a time of the run; a key that is not here never ends

	// faults (see Fault)
	ID       int               `json:"id,omitempty"`
	Phase    string            `json:"phase,omitempty"` // install, heal
	Masters  []string          `json:"masters,omitempty"`
	Clients  []string          `json:"clients,omitempty"`
	Params   map[string]string `json:"params,omitempty"`
	Bit      bool              `json:"bit,omitempty"`
	Evidence string            `json:"evidence,omitempty"`
	Bound    time.Duration     `json:"bound,omitempty"` // healed: ns within which a free lock must be granted
}

// observed reports whether an operation is what a master showed, which may have been seen late.
func (op *Op) observed() bool { return op.Value != nil && (op.F == FVote || op.F == FLook) }

// endsHistory reports whether an operation is the end mark: only the harness records it.
func (op *Op) endsHistory() bool { return op.F == FEnd && op.Process == Harness }
