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
	Version() string   // as the masters report it
	Masters() []Master // m1, m2, …

	// Link returns the link from a client ("c1") to a master (0 is m1). It is made at the first
	// call, and later calls return the same link.
	Link(client string, master int) (Link, error)

	// Shim returns nil if clock faults, disk faults and power cuts are available, and otherwise
	// the reason why not.
	Shim() error

	// Close ends every link and removes every master with its data. Logs are kept. It may be
	// called more than once, and while a master is being started.
	Close() error
}

// State is the state of a master's process.
type State string

const (
	Up     State = "up"
	Paused State = "paused" // stopped with open sockets: it accepts connections and does not answer
	Down   State = "down"
)

// Master is one Redis server. Calls on one master take effect one after the other. Each returns
// when the effect is certain.
//
// A call that finds the state that it should bring about returns no error: to kill a master
// that is down, or to pause one that is paused. An impossible call returns ErrDown, ErrPaused
// or ErrClosed: to pause or resume a master that is down, or to start one that is paused.
type Master interface {
	Name() string // m1, m2, …
	State() State // also reports that the server has ended by itself

	Pause(ctx context.Context) error    // stops its process
	Resume(ctx context.Context) error   // let it go on
	Kill(ctx context.Context) error     // SIGKILL, also while it is paused
	Shutdown(ctx context.Context) error // SIGTERM, after resuming it if it is paused; returns when the process has ended
	Start(ctx context.Context) error    // starts a master that is down; returns when it answers PING, or leaves it down

	// SetClock sets the master's wall clock wrong while it runs. It returns when the master's
	// TIME shows the setting; for a master that is down, paused or does not answer, the setting
	// applies all the same. The clock belongs to the machine: a restart keeps it. The zero
	// value heals.
	SetClock(ctx context.Context, c Clock) error
	// SetDisk makes the master's disk slow, lying or full while it runs, for all calls from now
	// on. A restart keeps that. A master that cannot write may end by itself and is then Down,
	// as Redis does with Always. The zero value heals.
	SetDisk(ctx context.Context, d Disk) error
	// CutPower ends the master with SIGKILL, also while it is paused, and removes from its data
	// what was not durable. The master is Down then. Start may fail for good, because a server
	// need not be able to start from what a power cut leaves.
	CutPower(ctx context.Context, p Power) (Cut, error)

	// FillMemory writes junk under keys that begin with FillerPrefix, without using links,
	// until it has written that many bytes or the master accepts no more (Inspect returns what
	// the master evicts meanwhile). With 0 bytes, it writes until the master has evicted one of
	// its keys or accepts no more. DrainMemory removes the junk.
	FillMemory(ctx context.Context, bytes int64) error
	DrainMemory(ctx context.Context) error

	// HoldReplication stops and continues the replication to the replica that a Failover would
	// promote. Other replicas, and so WAIT, are not affected. Held changes are late and not
	// lost, unless there is a Failover.
	HoldReplication(ctx context.Context, held bool) error
	// Failover kills the master and puts a replica in its place, behind the same links. Changes
	// that have not reached the replica are lost. The successor has a machine of its own, with
	// a right clock and a good disk. The next Start starts the killed server as a replica of
	// its successor; a primary that lives on for some clients becomes one, too.
	Failover(ctx context.Context, t Takeover) error

	// Inspect asks the master, without using links, which run of the server answers and what it
	// stores under the keys. It fails while the master is paused or down, and does not wait for
	// other calls.
	Inspect(ctx context.Context, keys []string) (Snapshot, error)
}

// Snapshot is what a master reports about itself and what the shim reports about its disk.
type Snapshot struct {
	RunID   string               // differs after each start of the server
	Keys    map[string]string    // of the requested keys, those that exist and store a string
	Other   bool                 // a requested key exists and stores something else
	Expires map[string]time.Time // of these keys, those that expire: when, on the master's clock
	Time    time.Time            // on its own clock
	Evicted int64                // number of keys evicted since its start
	Disk    DiskCounts
}

// Tokens returns the tokens that the keys store, as histories write them: as votes do, although
// they may be any bytes. It returns nil if a key stores something else than a string, such as a
// sorted set: what a snapshot cannot read is no evidence that a token is not there.
func (s *Snapshot) Tokens() map[string]string {
	if s.Other || s.Keys == nil {
		return nil
	}
	tokens := make(map[string]string, len(s.Keys))
	for key, token := range s.Keys {
		tokens[key] = resp.Printable(token)
	}
	return tokens
}

// DiskCounts are the numbers of operations of a master's disk since the cluster was started.
// All are 0 without the shim.
type DiskCounts struct {
	Fsyncs  int64
	Delayed int64 // of them
	Lied    int64 // of them
	Refused int64 // writes that failed because the disk was full
}

// FillerPrefix begins the keys that FillMemory writes.
const FillerPrefix = "lockpick:filler:"

// Link is one client's connection to one master. The zero LinkFault heals it.
type Link interface {
	Addr() string  // the address to which the client connects: host:port
	Set(LinkFault) // takes effect immediately, also on open connections and on what they keep
	Fault() LinkFault
	Reset()             // sends RST on every open connection
	Counts() LinkCounts // since the link was made
}

// Observable is a Link with real connections, which an observer can follow.
type Observable interface {
	Observe(*resp.Observer) // observes the connections that are opened from now on; nil: ends that
}

// Mode is what a link does with the bytes of one direction.
type Mode string

const (
	Pass Mode = ""     // forward them
	Hold Mode = "hold" // keeps them, and delivers them when the fault ends, as late requests
	Drop Mode = "drop" // loses them; the connection is reset when the fault ends
)

// LinkFault is the fault of a link.
type LinkFault struct {
	Requests Mode          // client to master
	Replies  Mode          // master to client
	Delay    time.Duration // added to each direction
	Refuse   bool          // new connections are reset immediately
}

// LinkCounts are the numbers of bytes that a link has handled; Refused is a number of
// connections. Held or delayed bytes are counted as such when that begins, and as passed when
// it ends.
type LinkCounts struct {
	Passed  int64
	Held    int64 // had to wait for a fault to end
	Dropped int64 // lost by a fault, or by Reset while they waited
	Delayed int64
	Refused int64 // connections
	Starved int64 // connections that failed because this process had no file descriptor left
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

// Eviction is what a master does when its memory is full: the maxmemory-policy of Redis.
type Eviction string

// NoEviction refuses commands that need more memory. The allkeys policies evict locks.
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
	Eviction    Eviction                         // the policy at that limit; empty: NoEviction
	Replicas    int                              // asynchronous replicas of each master, 0 to 2
	Image       string                           // docker: image reference; empty: DefaultImage's choice
	LogDir      string                           // the file mN.log in it is appended to; empty: no logs are kept
	Progress    func(format string, args ...any) // is called with what takes long; may be nil

	KeepLeftovers bool // do not remove what dead harnesses have left behind
}

// The reasons why a master refuses a call.
var (
	// ErrDown says that a master is down and has to be started first.
	ErrDown = errors.New("the master is down")
	// ErrPaused says that a master is paused and has to be resumed first.
	ErrPaused = errors.New("the master is paused")
	// ErrClosed says that the cluster was closed.
	ErrClosed = errors.New("the cluster is closed")
)

// Mortal is a master whose server can end without a call on the master: another program killed
// it, or it ended by itself. Masters on this machine implement it.
type Mortal interface {
	// Died returns what has ended the server, or replaced it by another, since the last call;
	// empty: nothing, except calls on the master and faults of its disk.
	Died() string
}
