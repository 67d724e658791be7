package history

import "time"

// FormatVersion is the version of the format that this package writes.
//
// Version 2 added the end mark (FEnd), which shows that a history is complete, and the fields
// ttl, delay and redis_key. In version 3 a lease without an end is valid until Endless, and a lease that ends in many
// days has that end; before, both were the same.
const FormatVersion = 3

// Imported is the driver in the header of a history that was made from the logs of a lock that
// Lockpick did not run (see package logs). Such a history contains only clients, no votes and no
// faults.
const Imported = "logs"

// Header is the first line of a history: what was run, and everything else that a reader needs
// to judge the history without the scenario.
type Header struct {
	Format       int               `json:"lockpick_history"` // FormatVersion
	Name         string            `json:"name"`             // the scenario's name
	Started      time.Time         `json:"started"`          // wall clock at time 0
	Seed         uint64            `json:"seed"`
	Driver       string            `json:"driver"`                 // docker, process, sim, virtual, service, existing; or Imported
	Service      string            `json:"service,omitempty"`      // the store whose servers the masters are; empty: Redis. Its version is in Versions
	Asynchronous bool              `json:"asynchronous,omitempty"` // a server of the service that takes over may lack what the one before it acknowledged
	Reported     bool              `json:"reported,omitempty"`     // the clients are somebody else's tests, which reported what they did with the lock
	Settle       time.Duration     `json:"settle,omitempty"`       // how long its servers may take after a fault to serve again, ns
	Lock         string            `json:"lock"`
	Kind         LockKind          `json:"kind,omitempty"`    // which holds may overlap; empty: Mutex
	Permits      int               `json:"permits,omitempty"` // how many permits a semaphore has
	Client       []string          `json:"client,omitempty"`  // the command that ran as each client, if it was not Lockpick's own
	Until        string            `json:"until,omitempty"`   // how the ends of leases are known: UntilTTL, UntilReleased; empty: the lock reports them
	Masters      int               `json:"masters"`
	Quorum       int               `json:"quorum"` // how many of them a lease needs; 0: the lock does not say
	Persistence  string            `json:"persistence"`
	Clients      int               `json:"clients"`
	Keys         int               `json:"keys"`
	TTL          time.Duration     `json:"ttl"`                   // ns
	Fencing      bool              `json:"fencing"`               // leases have fencing tokens
	Resource     string            `json:"resource,omitempty"`    // how clients use the guarded resource, if it has compare-and-set
	Duplicates   bool              `json:"duplicates,omitempty"`  // the simulated network may deliver a request twice
	HungHolder   time.Duration     `json:"hung_holder,omitempty"` // how long a lock that renews leases by itself may keep the lease of a hung holder, ns
	DeadWaiter   time.Duration     `json:"dead_waiter,omitempty"` // how long a lock with a queue waits for each waiter that is gone, ns
	Retry        time.Duration     `json:"retry,omitempty"`       // the longest time between two attempts to acquire a key that nobody holds, which the lock states, ns; 0: it states none
	Fair         bool              `json:"fair,omitempty"`        // the lock claims to serve waiters in the order of their calls
	Faults       []string          `json:"faults"`                // the kinds of faults that the campaign was to inject
	Properties   []string          `json:"properties,omitempty"`  // the properties that the scenario names: some are judged only if named
	Nemesis      string            `json:"nemesis"`               // random, guided, schedule, none
	Versions     map[string]string `json:"versions"`              // redis, go, lockpick
	Scenario     string            `json:"scenario,omitempty"`    // the scenario's YAML, replayable
}

// LeastVotes returns how many votes a lease needs at least: the quorum, or, if the lock does not say, a majority; 0 if it is not
// known how many masters there are.
func (h *Header) LeastVotes() int {
	switch {
	case h.Quorum > 0:
		return h.Quorum
	case h.Masters > 0:
		return h.Masters/2 + 1
	}
	return 0
}

// OwnPersistence is Header.Persistence of a service and of servers that Lockpick did not start: what they keep is decided
// by their own settings.
const OwnPersistence = "own"

// Values of Header.Until: how the ends of leases are known if the clients do not state them.
const (
	UntilTTL      = "ttl"      // a lease lasts for the TTL from its client's request, unless the client states its end
	UntilReleased = "released" // the lock promises no time: a lease lasts until it is released
)
