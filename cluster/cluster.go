package cluster

import (
	"context"
	"errors"
	"time"

	"lockpick/cluster/resp"
)

// Cluster is a number of independent masters. Its methods are safe for
// concurrent use.
type Cluster interface {
	Driver() string    // docker, process
	Version() string   // of Redis, as the masters report it
	Masters() []Master // m1, m2, …

	// Link returns the link from a client ("c1") to a master (0 is m1). It is
	// made when it is first asked for, and the same one is returned ever after.
	Link(client string, master int) (Link, error)

	// Shim is nil if clock and disk faults and power cuts can be had, and says
	// otherwise why not.
	Shim() error

	// Close ends every link and removes every master with its data. Logs stay.
	// It may be called more than once, and while a master is being started.
	Close() error
}

// State is what a master's process is doing.
type State string

const (
	Up     State = "up"
	Paused State = "paused" // stopped, its sockets open: it accepts connections and answers nothing
	Down   State = "down"
)

// Master is one Redis server. Calls on one master take effect one after the
// other. Each returns once the effect is certain.
//
// What is so already is no error: to kill a master that is down, to pause one
// that is paused. What can not be is ErrDown, ErrPaused or ErrClosed: to pause or
// resume a master that is down, to start one that is paused.
type Master interface {
	Name() string // m1, m2, …
	State() State // also tells when the server ended by itself

	Pause(ctx context.Context) error    // stop its process where it stands
	Resume(ctx context.Context) error   // let it go on
	Kill(ctx context.Context) error     // SIGKILL, also while it is paused
	Shutdown(ctx context.Context) error // SIGTERM, resumed first if it is paused; returns when the process has ended
	Start(ctx context.Context) error    // a master that is down; returns when it answers PING, or leaves it down

	// SetClock sets the master's wall clock off the true one, while it runs. It
	// returns when the master's TIME shows it; of a master that is down, paused or
	// does not answer, it is in force all the same. It is the machine's clock: a
	// restart keeps it. The zero value heals.
	SetClock(ctx context.Context, c Clock) error
	// SetDisk makes the master's disk slow, lying or full, while it runs, for all
	// calls from now on. A restart keeps that. A master that can not write may end
	// by itself: Redis does with Always, and is Down then. The zero value heals.
	SetDisk(ctx context.Context, d Disk) error
	// CutPower ends the master by SIGKILL, also while it is paused, and takes from
	// its data what was not durable. It is Down then, and Start may fail for good:
	// a server need not come back from what a power cut leaves.
	CutPower(ctx context.Context, p Power) (Cut, error)

	// FillMemory writes junk under keys that begin with FillerPrefix, past all links,
	// until that many bytes of it were written or the master takes no more (of what
	// it evicts meanwhile, see Inspect). With 0 bytes, it writes until one of its keys
	// was evicted or it takes no more. DrainMemory removes the junk.
	FillMemory(ctx context.Context, bytes int64) error
	DrainMemory(ctx context.Context) error

	// HoldReplication stops, and lets go on, what the replica learns that a Failover
	// would promote; others, and so WAIT, hear all the same. What was held is late, not
	// lost, unless there is a Failover.
	HoldReplication(ctx context.Context, held bool) error
	// Failover kills the master and puts a replica in its place, behind the same
	// links. What has not reached the replica by now is lost. The successor has a
	// machine of its own, with a right clock and a good disk. The killed server is
	// started by the next Start, as a replica of its successor; one that lives on for
	// some clients becomes it.
	Failover(ctx context.Context, t Takeover) error

	// Inspect asks the master itself, past all links, which run of the server
	// answers and what it stores under the keys; a key that holds no string is
	// left out. It fails while the master is paused or down, and does not wait for
	// calls under way.
	Inspect(ctx context.Context, keys []string) (Snapshot, error)
}

// Snapshot is what a master says of itself, and its disk of itself.
type Snapshot struct {
	RunID   string               // differs after each start of the server
	Keys    map[string]string    // of the keys asked for, those that exist
	Expires map[string]time.Time // of those keys, the ones that ever end: when, on its own clock
	Time    time.Time            // on its own clock
	Evicted int64                // keys that it evicted since its start
	Disk    DiskCounts
}

// DiskCounts says what a master's disk did since the cluster was started. All
// are 0 without the shim.
type DiskCounts struct {
	Fsyncs  int64
	Delayed int64 // of them
	Lied    int64 // of them
	Refused int64 // writes that failed because the disk was full
}

// FillerPrefix begins the keys that FillMemory writes.
const FillerPrefix = "lockpick:filler:"

// Link is one client's way to one master. The zero LinkFault heals it.
type Link interface {
	Addr() string  // where the client dials: host:port
	Set(LinkFault) // takes effect at once, also on open connections and on what they wait for
	Fault() LinkFault
	Reset()             // sends RST on every open connection
	Counts() LinkCounts // since the link was made
}

// Observable is a Link that real bytes cross, which an observer can follow.
type Observable interface {
	Observe(*resp.Observer) // the connections that are opened from now on; nil: nobody does
}

// Mode is what a link does with the bytes of one direction.
type Mode string

const (
	Pass Mode = ""     // forward them
	Hold Mode = "hold" // keep them, and deliver them when the fault ends: late requests
	Drop Mode = "drop" // lose them; the connection is reset when the fault ends
)

// LinkFault is what is wrong with a link.
type LinkFault struct {
	Requests Mode          // client to master
	Replies  Mode          // master to client
	Delay    time.Duration // added to each direction
	Refuse   bool          // new connections are reset at once
}

// LinkCounts says what a link did. All but Refused are bytes. Bytes that were
// held or delayed count as such when that begins, and as passed when it ends.
type LinkCounts struct {
	Passed  int64
	Held    int64 // had to wait for a fault to end
	Dropped int64 // lost by a fault, or by Reset while they waited
	Delayed int64
	Refused int64 // connections
}

// Persistence is how a master keeps its keys.
type Persistence string

const (
	None     Persistence = "none"     // --save "" --appendonly no
	RDB      Persistence = "rdb"      // Redis's default snapshots, also on a clean shutdown
	Everysec Persistence = "everysec" // --appendonly yes --appendfsync everysec
	Always   Persistence = "always"   // --appendonly yes --appendfsync always
)

// Persistences lists them all.
var Persistences = []Persistence{None, RDB, Everysec, Always}

// Eviction is what a master does when its memory is full: Redis' maxmemory-policy.
type Eviction string

// NoEviction refuses what needs more memory. The allkeys policies evict locks.
const NoEviction Eviction = "noeviction"

// Evictions lists them all.
var Evictions = []Eviction{
	NoEviction, "allkeys-lru", "allkeys-lfu", "allkeys-random",
	"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
}

// Config describes the masters to start.
type Config struct {
	Masters     int                              // 0: 5
	Persistence Persistence                      // empty: None
	MaxMemory   int64                            // bytes; 0: no limit
	Eviction    Eviction                         // what happens at that limit; empty: NoEviction
	Replicas    int                              // asynchronous ones of each master, 0 to 2
	Image       string                           // docker: image reference; empty: DefaultImage's choice
	LogDir      string                           // mN.log is appended to there; empty: no logs are kept
	Progress    func(format string, args ...any) // told what takes long; may be nil

	KeepLeftovers bool // do not remove what dead harnesses left behind
}

// What a master refuses.
var (
	// ErrDown says that a master is down and has to be started first.
	ErrDown = errors.New("the master is down")
	// ErrPaused says that a master is paused and has to be resumed first.
	ErrPaused = errors.New("the master is paused")
	// ErrClosed says that the cluster was closed.
	ErrClosed = errors.New("the cluster is closed")
)

// Mortal is a master whose server can end although no call on the master ended it: somebody
// else killed it, or it ended by itself. Masters on this machine are.
type Mortal interface {
	// Died says what ended the server, or put another in its place, since it was last asked;
	// empty: nothing did, but for calls on the master and faults of its disk.
	Died() string
}
