package risk

// Field describes a field of a Setup for help texts and documents.
type Field struct {
	Name    string
	Default string
	Means   string
	Source  string // source of the default
}

// Fields lists the fields of a Setup.
var Fields = []Field{
	{"lock", "redlock", "the lock: one of `lockpick list locks`", ""},
	{"masters", "5", "independent masters", "distlock: \"N=5 is a reasonable value\""},
	{"persistence", "none", "what masters keep: none, rdb, everysec or always", "a cache without a disk, the careless case"},
	{"replicas", "0", "asynchronous replicas of each master", "distlock: independent masters, without replication"},
	{"wait", "0", "replicas that must have a key before their master's vote counts (WAIT)", ""},
	{"restart_delay", "0s", "the least time for which a master that ended stays down", "service managers restart at once"},
	{"fencing", "false", "the resource rejects older fencing tokens", "few resources do"},
	{"ttl", "10s", "the lease's TTL", "an assumption: give your own"},
	{"extended", "false", "a lease is extended for as long as its section takes", "an assumption: give your own"},
	{"acquisitions", "10", "acquisitions per second, of all keys together", "an assumption: give your own"},
	{"hold", "p50=50ms,p90=200ms,p99=1s,max=5s", "how long a critical section takes", "an assumption: `lockpick watch` measures yours"},
	{"keys", "1000", "keys in use; counts only without contended", "an assumption: give your own"},
	{"contended", "0.01", "share of acquisitions that find the key held; 0: as follows from the number of keys", "an assumption: `lockpick watch` measures yours"},
	{"restarts", "1", "clean restarts, per master and month", "an update of Redis or of its machine each month"},
	{"crashes", "0.02..0.2", "crashes of the Redis process, the machine living on (also for want of memory), per master and month", "an assumption: one in 5 months to 4 years"},
	{"power_failures", "0.004..0.04", "power failures, kernel crashes and other sudden ends of one machine, per master and month", "an assumption: one in 2 to 20 years"},
	{"site_failures", "0", "power failures of all masters at once, per month", "masters that do not share a power supply"},
	{"failovers", "0", "failovers to a replica, per master and month; the old primary is dead", "none without replicas"},
	{"clock_steps", "0.01..0.1", "steps of a machine's clock, half of them forward, per master and month", "an assumption: an administrator, or a machine that was moved"},
	{"partitions", "1", "times in which a master cannot be reached by any client, per master and month", "an assumption: give your own"},
	{"client_pauses", "0.1..1", "pauses of a client's process (collection of garbage, a machine that is moved), per client and hour", "an assumption: logs of your runtime have them"},
	{"downtime", "min=100ms,p50=1s,p90=10s,max=60s", "from the end of a master to its return; of a failover, until the replica serves", "an assumption: a restart of the process up to one of the machine"},
	{"replication_lag", "500us..20ms", "how long a replica lacks a write", "replicas in one data centre"},
	{"clock_step", "100ms..60s", "how large a step is", "an assumption: give your own"},
	{"partition", "1s..60s", "how long one lasts", "an assumption: give your own"},
	{"client_pause", "p50=50ms,p90=500ms,p99=5s,max=60s", "how long one lasts", "an assumption: logs of your runtime have them"},
}
