package scenario

import (
	"slices"
	"time"

	"lockpick/checker"
	"lockpick/cluster"
	"lockpick/cluster/service/spec"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/nemesis"
	"lockpick/workload"
)

// Scenario contains everything that one campaign needs. Fields declares each of its fields; the struct fixes
// only their types and their order in a file. Defaults returns the values of fields that are not given;
// Field.Absent describes the meaning of a zero value.
type Scenario struct {
	Name        string              `yaml:"name"`
	Lock        string              `yaml:"lock"`
	Client      []string            `yaml:"client,omitempty"`
	Fencing     bool                `yaml:"fencing"`
	Kind        history.LockKind    `yaml:"kind,omitempty"`
	Permits     int                 `yaml:"permits,omitempty"`
	Readers     float64             `yaml:"readers,omitempty"`
	Masters     int                 `yaml:"masters"`
	Persistence string              `yaml:"persistence"`
	MaxMemory   int64               `yaml:"max_memory,omitempty"`
	Eviction    string              `yaml:"eviction,omitempty"`
	Replicas    int                 `yaml:"replicas,omitempty"`
	Wait        int                 `yaml:"wait,omitempty"`
	Admin       bool                `yaml:"admin,omitempty"`
	ACL         string              `yaml:"acl,omitempty"`
	TLS         bool                `yaml:"tls,omitempty"`
	Service     *spec.Service       `yaml:"service,omitempty"`
	At          []string            `yaml:"at,omitempty"`
	Clients     int                 `yaml:"clients"`
	ClientsAs   string              `yaml:"clients_as"`
	Keys        int                 `yaml:"keys"`
	TTL         Duration            `yaml:"ttl"`
	ClientTTL   map[string]Duration `yaml:"client_ttl,omitempty"`
	Timeout     Duration            `yaml:"timeout,omitempty"`
	Hold        string              `yaml:"hold"`
	LongHolds   float64             `yaml:"long_holds"`
	Extend      float64             `yaml:"extend"`
	Usage       []string            `yaml:"usage,omitempty"`
	Arrivals    []workload.Arrival  `yaml:"arrivals,omitempty"`
	Resource    workload.Protocol   `yaml:"resource,omitempty"`

	Faults       []string `yaml:"faults"`
	Nemesis      string   `yaml:"nemesis"`
	Targets      []string `yaml:"targets,omitempty"`
	Interval     Duration `yaml:"interval,omitempty"`
	RestartDelay Duration `yaml:"restart_delay"`
	Clock        string   `yaml:"clock,omitempty"`
	ClientClock  string   `yaml:"client_clock,omitempty"`
	ClientRate   float64  `yaml:"client_rate,omitempty"`
	FsyncDelay   Duration `yaml:"fsync_delay,omitempty"`
	Outage       Duration `yaml:"outage,omitempty"`
	SplitBrain   bool     `yaml:"split_brain,omitempty"`
	Strict       bool     `yaml:"strict,omitempty"`
	Torn         bool     `yaml:"torn,omitempty"`
	Schedule     []Step   `yaml:"schedule,omitempty"`
	Network      Network  `yaml:"network,omitempty"`

	Scheduler       string   `yaml:"scheduler,omitempty"`
	Stall           Duration `yaml:"stall,omitempty"`
	TimeLimit       Duration `yaml:"time_limit"`
	Seed            uint64   `yaml:"seed"`
	StopOnViolation bool     `yaml:"stop_on_violation,omitempty"`
	StopAfter       int      `yaml:"stop_after,omitempty"`
	Properties      []string `yaml:"properties,omitempty"`
	Driver          string   `yaml:"driver"`
	Server          string   `yaml:"server,omitempty"`
	Image           string   `yaml:"image,omitempty"`
}

// Network lets a simulated network lose, duplicate and delay messages by itself. Real networks do that, too,
// but not in a controlled way.
type Network struct {
	Loss      float64  `yaml:"loss,omitempty"`
	Duplicate float64  `yaml:"duplicate,omitempty"`
	Late      float64  `yaml:"late,omitempty"`
	LateBy    Duration `yaml:"late_by,omitempty"`
	Apart     Duration `yaml:"apart,omitempty"`
}

// MastersSection is Field.Section of what masters are.
const MastersSection = "Masters"

// day is the longest duration in a scenario, except for the offset of a clock.
const day = 24 * time.Hour

// MaxTimeLimit is the longest time limit of a scenario.
const MaxTimeLimit = day

// maxTTL is the longest TTL: more than 2³² milliseconds, which are 50 days.
const maxTTL = 60 * day

// maxTimeout is the longest timeout for one master. A client waits that long for each master that does not reply, and
// no run ends before its clients have returned.
const maxTimeout = time.Minute

// maxStopAfter is the most acquisitions after which a run may stop.
const maxStopAfter = 1_000_000

// Fields declares the fields of a Scenario, in the order of the struct. Everything about a field is derived
// from its declaration: default, check, flag with help and completion, how the flag overrides a file, the row
// of lockpick list fields, and the row of the table in docs/scenarios.md.
//
// A new field is an entry here and a line of the struct.
var Fields []*Field

// Fields is set in init because the checks of some fields read Fields.
func init() {
	seconds := func(least time.Duration) limits { return limits{least, day} }
	section := func(name string, fields ...*Field) []*Field {
		for _, f := range fields {
			f.Section = name
		}
		return fields
	}
	Fields = slices.Concat(section("The lock",
		&Field{Name: "name", Default: "redlock", OutsideSeed: true, check: checkName,
			Help: "name of the run", Absent: "the lock's name", More: "It names the run's folder."},
		&Field{Name: "lock", Everyday: true, Default: "redlock", check: checkLock, listed: correctLocks, Help: "the lock under test", More: "See [locks.md](locks.md)."},
		&Field{Name: "client", Everyday: true, Form: CommandForm, RunOnly: true, Drivers: []string{Docker, Process}, check: checkClient,
			Help: "a command that runs as each client and has the lock, such as 'python3 lock.py', or the name of a client that comes with Lockpick (lockpick list clients); --lock is only a label then",
			More: "In a file it is a list, such as `[python3, lock.py]` ([clients.md](clients.md))."},
		&Field{Name: "fencing", Everyday: true, check: checkFencing, Help: "let the lock issue fencing tokens (judges L5 and FM)"},
		&Field{Name: "kind", Everyday: true, Absent: "the lock's own", Values: texts(history.LockKinds), check: checkKind,
			Help: "which holds may overlap: none, those of readers, as many as there are permits, those of one client, or none on each of several keys",
			More: "What a kind means is in [checking.md](checking.md#kinds-of-locks). A client that is a program says its kind itself ([clients.md](clients.md#locks-that-are-not-mutexes))."},
		&Field{Name: "permits", Absent: "3 of a semaphore", within: limits{0, history.MaxPermits}, check: checkPermits, Help: "how many permits a semaphore has; each acquire asks for one up to all of them"},
		&Field{Name: "readers", Absent: "0.7 of a read-write lock", Probability: true, check: checkReaders, Help: "share of the acquires of a read-write lock that read"},
	), section(MastersSection,
		&Field{Name: "masters", Everyday: true, Default: 5, within: limits{1, 15}, Help: "number of masters"},
		&Field{Name: "persistence", Everyday: true, Default: string(cluster.None), Values: texts(cluster.Persistences),
			Help: "how masters keep keys", More: "`rdb` takes snapshots, also on a clean shutdown."},
		&Field{Name: "max_memory", Absent: "no limit; 4 MiB for the fault memory", check: checkMaxMemory, Help: "bytes of memory of each master"},
		&Field{Name: "eviction", Absent: "allkeys-lru", Values: texts(cluster.Evictions), Help: "eviction policy of masters at that limit"},
		&Field{Name: "replicas", Absent: "1 for the fault failover", within: limits{0, 2}, Help: "asynchronous replicas of each master"},
		&Field{Name: "wait", check: checkWait, Help: "replicas that must have a key before their master's vote counts (WAIT)"},
		&Field{Name: "admin", Help: "let clients send commands that no lock sends, such as FLUSHALL, CONFIG or SHUTDOWN",
			More: "Without it masters refuse them (`NOPERM`), so that another program on this machine that finds a link does not convict the lock. Redis before 7.0 needs it: it cannot refuse `CLIENT KILL` alone."},
		&Field{Name: "acl", Drivers: []string{Docker, Process}, OutsideSeed: true, RunOnly: true, check: checkACL,
			Help: "users of the masters as in Redis's ACL files, one a line, such as 'user app on >secret ~* +@all'; clients must log in as the first",
			More: "Lockpick's own user stays beside them ([users and TLS](#users-and-tls))."},
		&Field{Name: "tls", Drivers: []string{Docker, Process}, OutsideSeed: true, RunOnly: true, check: checkTLS,
			Help: "clients must speak TLS with the masters", More: "The run has a certificate authority of its own ([users and TLS](#users-and-tls))."},
		&Field{Name: "service", check: checkService, Drivers: []string{Process}, NoFlag: "it has fields of its own",
			Help: "the servers of any other store as masters: program, ports, files and probes", More: "See [services.md](services.md)."},
		&Field{Name: "at", Everyday: true, check: checkAt, RunOnly: true, OutsideSeed: true,
			Help: "Redis servers of your own as masters, such as 127.0.0.1:6379: nothing is done to them",
			More: "Faults hit links and clients only ([your own servers](#your-own-servers))."},
	), section("Clients",
		&Field{Name: "clients", Everyday: true, Default: 5, within: limits{1, 100}, Help: "number of clients"},
		&Field{Name: "clients_as", Default: Goroutines, Values: texts([]string{Goroutines, Processes}), check: checkClientsAs, RunOnly: true,
			Help: "how clients run (processes are stopped and killed by signals)", More: "See [clients.md](clients.md)."},
		&Field{Name: "keys", Default: 1, within: limits{1, 1000}, Help: "number of keys"},
		&Field{Name: "ttl", Everyday: true, Default: 2 * time.Second, within: limits{50 * time.Millisecond, maxTTL}, Help: "the lock's TTL (with Docker at least 2s: a restart takes 0.35s)"},
		&Field{Name: "client_ttl", Absent: "the TTL", check: checkClientTTL, NoFlag: "it differs from client to client",
			Help: "shorter TTLs of single clients", More: "For example `{c2: 1s}`."},
		&Field{Name: "timeout", Absent: "the lock's own, TTL/20, at most 50ms", within: limits{time.Duration(0), maxTimeout}, Help: "how long to wait for one master, at most a minute",
			More: "For distant masters [longer](guide.md#the-timeout-per-master)."},
		&Field{Name: "hold", Default: "0s..1s", check: checkHold, Help: "how long a critical section lasts: a duration or a range"},
		&Field{Name: "long_holds", Default: 0.25, Probability: true, Help: "share of critical sections that last 0.8 to 1.5 TTL instead"},
		&Field{Name: "extend", Default: 0.5, Probability: true, Help: "probability that a client extends a lease that is about to end"},
		&Field{Name: "usage", Values: texts(workload.Usages), check: checkUsage, Help: "how clients use the lock beside: what they do now and then although it makes no sense, what they share, how keys are named and how long callers wait",
			More: "With `share-lock` and `share-process` every second client is part of one process, the others of another, and no fault can hit single clients. Clients that are processes cannot do `acquire-again` (of the key that they hold) and `cancel-release`, and share only if they say so ([clients.md](clients.md#several-clients-in-one-process))."},
		&Field{Name: "arrivals", check: checkArrivals, NoFlag: "it is a list of acquisitions",
			Help: "when clients acquire, instead of again and again",
			More: "For example `[{client: c1, at: 0s, hold: 2s}, {client: c2, at: 500ms, hold: 1s, key: k1}]`; each `hold` replaces `hold` and `long_holds`. The clients' work ends with the last of them."},
		&Field{Name: "resource", Absent: string(workload.Register), Values: texts(workload.Protocols),
			Help: "how clients use what the lock guards (with compare-and-set, cas-…, RMW is judged)", More: "See [below](#the-guarded-resource)."},
	), section("Faults",
		&Field{Name: "faults", Everyday: true, Default: []string{"kill", "partition"}, Form: NoneForm, Values: texts(fault.Names()), replaces: "schedule",
			Help: "faults to inject", More: "The nemesis chooses from [these kinds](#faults); in a file `[]` is none."},
		&Field{Name: "nemesis", Default: Guided, Values: texts([]string{Random, Guided}),
			Help: "how faults choose targets and times (guided reads the votes)", More: "`guided` strikes where mutual exclusion depends on the fewest votes."},
		&Field{Name: "targets", Absent: "all but all", Values: texts(nemesis.Targets), Help: "masters that the random nemesis strikes"},
		&Field{Name: "interval", Absent: "the TTL", within: seconds(0), Help: "time between faults, on average"},
		&Field{Name: "restart_delay", Default: time.Duration(0), within: seconds(0), Help: "time from a kill or shutdown to the restart, for which a run that ends waits"},
		&Field{Name: "clock", Absent: "drawn", check: func(s *Scenario) *Problem { return checkClock("clock", s.Clock) },
			Help: "what the fault clock does: +60s, -60s (jumps), x1.5 (its rate), ~5s (strobes)"},
		&Field{Name: "client_clock", Absent: "drawn", check: checkClientClock, replaces: "client_rate",
			Help: "what the fault client-clock does: +60s, -60s, ~5s (the wall clock), x1.5 (the monotonic one too)"},
		&Field{Name: "client_rate", check: checkClientRate, replaces: "client_clock",
			Help: "the same as x… of client-clock, as a number: seconds that a client counts in a true one"},
		&Field{Name: "fsync_delay", Absent: "1s", within: seconds(0), Help: "what the fault slow-fsync adds to each fsync"},
		&Field{Name: "outage", Absent: "as Redis Sentinel takes with a down-after of an eighth of the TTL", within: seconds(0), Help: "the fault failover: how long no server serves"},
		&Field{Name: "split_brain", Help: "the fault failover: the old primary lives on for half of the clients"},
		&Field{Name: "strict", Help: "the fault powercut: names are durable only once their directory was fsynced"},
		&Field{Name: "torn", Help: "the fault powercut: a random part of what was not fsynced survives"},
		&Field{Name: "schedule", check: checkSchedule, NoFlag: "it is a list of steps",
			Help: "explicit steps, instead of faults and nemesis", More: "See [below](#a-schedule)."},
		&Field{Name: "network", Drivers: []string{Sim}, check: checkNetwork, NoFlag: "it has fields of its own", Help: "what the network does to messages by itself", More: "For example `{loss: 0.01, late: 0.02, late_by: 1s}`."},
		&Field{Name: "network.loss", Probability: true, NoFlag: inNetwork, Help: "probability that a message is lost, and that its connection hangs"},
		&Field{Name: "network.duplicate", Probability: true, NoFlag: inNetwork, Help: "probability that a request arrives twice"},
		&Field{Name: "network.late", Probability: true, NoFlag: inNetwork, Help: "probability that a request is held back, so that later ones overtake it"},
		&Field{Name: "network.late_by", Absent: "1s", within: seconds(0), NoFlag: inNetwork, Help: "the longest that a late request is held back"},
		&Field{Name: "network.apart", within: seconds(0), NoFlag: inNetwork, Help: "extra distance, one way, of each client from all masters but its share of them"},
	), section("The run",
		&Field{Name: "scheduler", Absent: Uniform, Drivers: []string{Sim}, Values: texts(Schedulers), RunOnly: true,
			Help: "order of events", More: "`pct` is probabilistic concurrency testing: it stalls processes at three random steps."},
		&Field{Name: "stall", Absent: "TTL/60", Drivers: []string{Sim}, within: seconds(0), RunOnly: true, Help: "the longest stall at a change point of the scheduler pct"},
		&Field{Name: "time_limit", Everyday: true, Default: 30 * time.Second, within: seconds(time.Second), RunOnly: true, Help: "how long clients use the lock"},
		&Field{Name: "seed", Everyday: true, Default: uint64(1), Absent: "a fresh one, which is printed", Help: "seed of all random choices (on real masters timing makes each run different nevertheless)"},
		&Field{Name: "stop_on_violation", RunOnly: true, Help: "stop at the first violation of one of the properties, or of mutual exclusion if none is named",
			More: "Mutual exclusion is checked at once, every other property when the history has grown by an eighth and the violation has lasted for half a TTL; `deadlock-freedom` and `availability` concern what follows the healing, and end no run."},
		&Field{Name: "stop_after", RunOnly: true, Absent: "never", within: limits{0, maxStopAfter},
			Help: "stop before the time limit after so many contended acquisitions, if each step and each kind of fault has struck and three came under faults afterwards",
			More: "`lockpick search` draws it: a schedule ends when it has the evidence for a verdict on mutual exclusion. An acquisition is contended if within a TTL after it another client waits for the same key and may not share it."},
		&Field{Name: "properties", Everyday: true, Flag: "property", Absent: "all that are judged", OutsideSeed: true, Values: func() []string { return append(checker.Levels(), checker.PropertyNames()...) }, listed: levelsListed,
			Help: "levels or properties that decide the exit code, each of which must be tested",
			More: "The names of the properties are in [checking.md](checking.md); `ghost-keys` is judged only if it is named."},
		&Field{Name: "driver", Everyday: true, Default: Auto, Values: texts(Drivers), RunOnly: true, Help: "driver of the masters",
			More: "`sim`: [simulated](simulator.md) masters in virtual time; `virtual`: the same behind connections in memory, for the network side of a lock; `auto`: whichever of `docker`, `process` and `sim` can run, in that order."},
		&Field{Name: "server", Absent: "redis-server, or what the image starts", Drivers: []string{Docker, Process}, OutsideSeed: true, RunOnly: true, Help: "the program of the masters, such as valkey-server: any server that takes the settings of redis-server",
			More: "What it cannot do is found out at the start ([other servers](#other-servers))."},
		&Field{Name: "image", Absent: "the official one, or one built from this machine's redis-server", Drivers: []string{Docker}, OutsideSeed: true, RunOnly: true, Help: "Docker image of the masters",
			More: "The official one is taken if it is local or a registry answers."},
	))
}
