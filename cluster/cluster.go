package cluster

import (
	"context"
	"errors"
	"time"

	"lockpick/cluster/resp"
)

// Cluster is a set of independent masters. Its methods are safe for concurrent use.
type Cluster interface {
	Driver() string    // docker, process, sim, virtual, service, existing
	Server() string    // the name that the masters report: redis, valkey, …
	Version() string   // the version that they report
	Masters() []Master // m1, m2, …

	// Link returns the link from a client ("c1") to a master (0 is m1). The first call makes
	// the link, and later calls return the same one.
	Link(client string, master int) (Link, error)

	// Shim returns nil if clock faults, disk faults and power cuts are available, and otherwise
	// the reason why not.
	Shim() error

	// Close ends every link and removes every master with its data. It keeps the logs. It may
	// be called more than once, and while a master is being started.
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
// A call has no effect and returns no error if the master is already in the state that the call
// would bring about: killing a master that is down, or pausing one that is paused. An
// impossible call returns ErrDown, ErrPaused or ErrClosed: pausing or resuming a master that is
// down, or starting one that is paused.
type Master interface {
	Name() string // m1, m2, …
	State() State // also reports that the server has ended by itself

	Pause(ctx context.Context) error    // stops its process
	Resume(ctx context.Context) error   // continues its process
	Kill(ctx context.Context) error     // SIGKILL, also while it is paused
	Shutdown(ctx context.Context) error // SIGTERM, after resuming it if it is paused; returns when the process has ended
	Start(ctx context.Context) error    // starts a master that is down; returns when it answers PING, or leaves it down

	// SetClock sets the master's wall clock wrong while the master runs. It returns when the
	// master's TIME shows the setting; for a master that is down, paused or does not answer,
	// the setting applies without this check. The clock belongs to the machine: a restart keeps
	// the setting. The zero value restores the true time.
	SetClock(ctx context.Context, c Clock) error
	// SetDisk makes the master's disk slow, lying or full while the master runs, for all calls
	// from now on. A restart keeps the setting. A master that cannot write may end by itself
	// and is then Down, as Redis does with Always. The zero value restores a good disk.
	SetDisk(ctx context.Context, d Disk) error
	// CutPower ends the master with SIGKILL, also while it is paused, and removes the data that
	// was not durable. The master is Down then. Start may fail permanently, because some
	// servers cannot start from the data that a power cut leaves.
	CutPower(ctx context.Context, p Power) (Cut, error)

	// FillMemory writes junk under keys that begin with FillerPrefix, without using links,
	// until it has written the given number of bytes or the master accepts no more (Inspect
	// returns how many keys the master has evicted). With 0 bytes, it writes until the master
	// has evicted one of its keys or accepts no more. DrainMemory removes the junk.
	FillMemory(ctx context.Context, bytes int64) error
	DrainMemory(ctx context.Context) error

	// HoldReplication stops or continues the replication to the replica that a Failover would
	// promote. Other replicas, and so WAIT, are not affected. Held changes arrive late; only a
	// Failover loses them.
	HoldReplication(ctx context.Context, held bool) error
	// Failover kills the master and puts a replica in its place, behind the same links. Changes
	// that have not reached the replica are lost. The successor has a machine of its own, with
	// a right clock and a good disk. The next Start starts the killed server as a replica of
	// its successor. It also makes a replica of a primary that lives on for some clients.
	Failover(ctx context.Context, t Takeover) error

	// Inspect reads from the master, without using links, which run of the server answers and
	// which values it stores under the keys. It fails while the master is paused or down, and
	// does not wait for other calls.
	Inspect(ctx context.Context, keys []string) (Snapshot, error)
}

// Snapshot holds the master's report about itself and the shim's report about its disk.
type Snapshot struct {
	RunID   string               // differs for each start of the server
	Keys    map[string]string    // those of the requested keys that exist and store a string
	Other   bool                 // a requested key exists and stores another type
	Expires map[string]time.Time // when those of Keys expire that have a TTL, on the master's clock
	Time    time.Time            // the time on the master's clock
	Evicted int64                // number of keys evicted since its start
	Disk    DiskCounts
}

// Tokens returns the tokens that the keys store, in the form in which votes in a history write
// them, although tokens may be any bytes. It returns nil if a key stores another type than a
// string, such as a sorted set: a value that a snapshot cannot read does not prove that a token
// is absent.
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

// DiskCounts counts the operations of a master's disk since the cluster was started. All counts
// are 0 without the shim.
type DiskCounts struct {
	Fsyncs  int64
	Delayed int64 // fsyncs that the fault delayed
	Lied    int64 // fsyncs that reported success and did nothing
	Refused int64 // writes that failed because the disk was full
}

// FillerPrefix is the prefix of the keys that FillMemory writes.
const FillerPrefix = "lockpick:filler:"

// Link is one client's connection to one master. The zero LinkFault heals it.
type Link interface {
	Addr() string  // the address to which the client connects: host:port
	Set(LinkFault) // takes effect immediately, also on open connections and on the bytes that they keep
	Fault() LinkFault
	Reset()             // sends RST on every open connection
	Counts() LinkCounts // since the link was made
}

// Mode determines how a link handles the bytes of one direction.
type Mode string

const (
	Pass Mode = ""     // forwards them
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

// LinkCounts counts the bytes that a link has handled; Refused and Starved count connections.
// Bytes count as held or delayed when their wait begins, and as passed when it ends.
type LinkCounts struct {
	Passed  int64
	Held    int64 // had to wait for a fault to end
	Dropped int64 // lost by a fault, or by Reset while they waited
	Delayed int64
	Refused int64 // connections
	Starved int64 // connections that failed because this process had no file descriptor left

	Strangers int64 // connections of other users of this machine, which were refused
}

// Persistence is the way in which a master keeps its keys.
type Persistence string

const (
	None     Persistence = "none"     // --save "" --appendonly no
	RDB      Persistence = "rdb"      // Redis's default snapshots, also on a clean shutdown
	Everysec Persistence = "everysec" // --appendonly yes --appendfsync everysec
	Always   Persistence = "always"   // --appendonly yes --appendfsync always
)

// Persistences lists all kinds of persistence.
var Persistences = []Persistence{None, RDB, Everysec, Always}

// Eviction is a master's policy when its memory is full: the maxmemory-policy of Redis.
type Eviction string

// NoEviction refuses commands that need more memory. The allkeys policies evict locks.
const NoEviction Eviction = "noeviction"

// Evictions lists all policies.
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
	Admin       bool                             // clients may send commands that no lock sends (see Refused)
	Users       []User                           // process, docker: users whom the masters have; clients log in as the first. None: links log in for them
	TLS         bool                             // process, docker: clients must speak TLS
	Image       string                           // docker: image reference; empty: the choice of docker.DefaultImage
	Server      string                           // process, docker: the program of the masters, by its name or path; empty: redis-server, or what the image starts
	At          []Address                        // existing: the servers that are the masters; Lockpick did not start them
	LogDir      string                           // directory of the logs mN.log, which are appended to; empty: none
	Progress    func(format string, args ...any) // told of long work, such as an image that is built; nil: nobody

	KeepLeftovers bool // do not remove the remains of dead harnesses
}

// Software names what runs as masters. Empty fields leave the choice to the driver.
type Software struct {
	Image  string // as in Config
	Server string // as in Config
}

// These errors are the reasons why a master refuses a call.
var (
	// ErrDown says that a master is down and must be started first.
	ErrDown = errors.New("the master is down")
	// ErrPaused says that a master is paused and must be resumed first.
	ErrPaused = errors.New("the master is paused")
	// ErrClosed says that the cluster was closed.
	ErrClosed = errors.New("the cluster is closed")
)

// Mortal is a master whose server can end without a call on the master: another program killed
// it, or it ended by itself. Masters on this machine implement it.
type Mortal interface {
	// Died returns the cause if the server has ended, or was replaced by another one, since the
	// last call, and "" if it has not. Ends by calls on the master and by faults of its disk do
	// not count.
	Died() string
}
