package fault

// These lists name the drivers that support a kind, if they have the feature that it needs.
var (
	onRedis = []string{"docker", "process", "sim"}
	all     = append(onRedis, Service)
	anyone  = append(all, Existing) // nothing is done to the servers
)

// Kinds is the registry, in the order in which help texts list the kinds.
var Kinds = []Kind{
	{
		Name: "pause", Hits: Masters, Drivers: all, Process: Stops,
		Summary: "SIGSTOP: accepts connections, answers nothing, and resumes with SIGCONT",
		Assumes: "a paused master accepts commands, and executes them after it, also those that clients gave up on",
		healed:  "went on, and executed first what was sent meanwhile", did: masters("paused", "paused"),
	},
	{
		Name: "kill", Hits: Masters, Drivers: all, Process: Ends,
		Summary: "SIGKILL, then a restart at once or delayed",
		Assumes: "SIGKILL loses no byte that the server has written: the operating system lives on",
		did:     ends("killed", "killed"),
	},
	{
		Name: "shutdown", Hits: Masters, Drivers: all, Process: ShutsDown,
		Summary: "SIGTERM (a clean shutdown, an upgrade), then a restart",
		Assumes: "Redis writes its snapshot on SIGTERM where it is configured to keep any",
		did:     ends("shut down", "down"),
	},
	{
		Name: "powercut", Hits: Masters, Needs: Shim, Drivers: onRedis, Process: LosesPower, Takes: []string{Strict, Torn},
		Summary: "SIGKILL, what was not fsynced is lost, then a restart",
		Assumes: "a journal commits names with any fsync; with strict, only the fsync of their directory does",
		did: func(s *Scene) (string, string) {
			return s.masters() + " lost power, " + s.Persistence, "no power"
		},
	},
	{
		Name: "failover", Hits: Masters, Needs: Replicas, Drivers: onRedis, Process: IsReplaced, Takes: []string{Outage, SplitBrain},
		Summary: "a master dies before it has replicated its last write, a replica takes its place",
		Assumes: "replication is asynchronous and lags by milliseconds; an outage lasts as Redis Sentinel's does",
		did:     masters("killed and replaced by a replica", "killed"),
	},
	{
		Name: "clock", Hits: Machines, Needs: Shim, Drivers: onRedis, Clock: MasterClock, Takes: []string{ClockField},
		Summary: "a master's clock jumps, drifts or strobes",
		Assumes: "Redis counts TTLs by the wall clock, which an administrator or NTP may set",
		healed:  "had the right time again",
		did: func(s *Scene) (string, string) {
			return "the clock of " + s.masters() + changed(s.Params["clock"]), clockMark(s.Params["clock"])
		},
	},
	{
		Name: "slow-fsync", Hits: Machines, Needs: Shim, Drivers: onRedis, Disk: SlowDisk, Takes: []string{Delay},
		Summary: "each fsync takes longer",
		Assumes: "the disk keeps what it has confirmed",
		did:     disks("became slow", "slow"),
	},
	{
		Name: "lying-fsync", Hits: Machines, Needs: Shim, Drivers: onRedis, Disk: LyingDisk,
		Summary: "fsync says yes and does nothing",
		Assumes: "it shows only when the power fails",
		did:     disks("began to confirm writes that it did not keep", "lying"),
	},
	{
		Name: "full-disk", Hits: Machines, Needs: Shim, Drivers: onRedis, Disk: FullDisk,
		Summary: "writes fail: no space is left",
		Assumes: "what was written before stays; Redis refuses writes, or ends, as it is configured",
		did:     disks("was full", "full"),
	},
	{
		Name: "memory", Hits: Machines, Needs: Memory, Drivers: onRedis, Evicts: true,
		Summary: "the memory is filled, and the master evicts or refuses",
		Assumes: "the memory limit and the eviction policy of the scenario",
		did: func(s *Scene) (string, string) {
			return "the memory of " + s.masters() + " was filled", "full"
		},
	},
	{
		Name: "partition", Aliases: []string{"refuse"}, Hits: Links, Drivers: anyone, Link: CutLink, Takes: []string{Mode, Direction},
		Summary: "cuts clients from masters: both ways or one, bytes held or dropped",
		Assumes: "what is held arrives after it heals; what is dropped breaks its connection",
		healed:  "could be reached again", did: cut,
	},
	{
		Name: "slow", Aliases: []string{"delay"}, Hits: Links, Drivers: anyone, Link: SlowLink, Takes: []string{Delay},
		Summary: "delays what clients and masters send each other",
		Assumes: "nothing is lost or overtakes",
		healed:  "answered as fast as before",
		did: func(s *Scene) (string, string) {
			how := ""
			if d := s.Params["delay"]; d != "" {
				how = ", by " + d
			}
			return s.masters() + " " + was(s.Masters) + " slow to answer" + how, "slow"
		},
	},
	{
		Name: "reset", Hits: Links, Drivers: anyone, Link: ResetLink,
		Summary: "breaks open connections and refuses new ones",
		Assumes: "what has arrived is executed, although its sender learns nothing",
		healed:  "could be reached again",
		did: func(s *Scene) (string, string) {
			return "the connections of " + s.everyone() + " to " + s.masters() + " were broken, and new ones refused", "reset"
		},
	},
	{
		Name: "peers", Hits: Peers, Drivers: []string{Service}, Link: CutLink, Takes: []string{Mode},
		Summary: "cuts servers of a service from all others: one, the leader, or as many as the others can do without",
		Assumes: "clients still reach all servers; what is held arrives after it heals",
		healed:  "could reach the others again",
		did: func(s *Scene) (string, string) {
			return s.masters() + " " + was(s.Masters) + " cut off from the other servers", "cut"
		},
	},
	{
		Name: "client-partition", Hits: Links, Drivers: anyone, Link: CutLink, Isolates: true, Takes: []string{Mode, Direction},
		Summary: "cuts one client from all masters for longer than its lease, at once after a grant",
		Assumes: "what is held arrives after it heals; what is dropped breaks its connection",
		healed:  "could be reached again", did: cut,
	},
	{
		Name: "client-pause", Hits: Clients, Drivers: anyone, Client: ClientStops, Takes: []string{Point},
		Summary: "stops a client after its quorum, before it enters, or between check and write",
		Assumes: "garbage collectors, schedulers and page faults stop programs at any place, and clocks run on",
		did:     clients("stopped", "to stop"),
	},
	{
		Name: "client-kill", Hits: Clients, Drivers: anyone, Client: ClientEnds, Takes: []string{Point},
		Summary: "ends a client in its critical section, with the lock held; it starts anew",
		Assumes: "nothing is released by the client that ended",
		did:     clients("ended", "to end"),
	},
	{
		Name: "client-clock", Hits: Clients, Drivers: anyone, Clock: ClientClock, Takes: []string{ClockField, Rate},
		Summary: "a client's wall clock jumps or strobes, or its clocks, also the monotonic one, drift",
		Assumes: "monotonic clocks never jump, but may run at a wrong rate",
		did: func(s *Scene) (string, string) {
			clock := s.Params["clock"]
			if clock == "" && s.Params["rate"] != "" { // older histories have only rate
				clock = "x" + s.Params["rate"]
			}
			return "the clock of " + Enumerate(s.Clients) + changed(clock), clockMark(clock)
		},
	},
}
