package history

import "time"

// FormatVersion is the version of the format that this package writes.
//
// Version 2 added the end mark (FEnd), so that a history that was cut short is known as one,
// and the fields ttl, delay and redis_key.
const FormatVersion = 2

// Imported is the driver in the header of a history that was made from logs of a lock that
// Lockpick did not run (see the package logs). Such a history contains clients only, and no
// votes or faults.
const Imported = "logs"

// Header is the first line of a history: what was run, and everything else that a reader needs
// in order to judge the history without the scenario.
type Header struct {
	Format      int               `json:"lockpick_history"` // FormatVersion
	Name        string            `json:"name"`             // of the scenario
	Started     time.Time         `json:"started"`          // wall clock at time 0
	Seed        uint64            `json:"seed"`
	Driver      string            `json:"driver"` // docker, process, sim; or Imported
	Lock        string            `json:"lock"`
	Client      []string          `json:"client,omitempty"` // the command that ran as each client, if it was not Lockpick's own
	Until       string            `json:"until,omitempty"`  // how the ends of leases are known: UntilTTL, UntilReleased; empty: the lock says them
	Masters     int               `json:"masters"`
	Quorum      int               `json:"quorum"`
	Persistence string            `json:"persistence"`
	Clients     int               `json:"clients"`
	Keys        int               `json:"keys"`
	TTL         time.Duration     `json:"ttl"`                   // ns
	Fencing     bool              `json:"fencing"`               // leases carry fencing tokens
	Resource    string            `json:"resource,omitempty"`    // how clients use the guarded resource, if it compares and sets
	Duplicates  bool              `json:"duplicates,omitempty"`  // the simulated network may bring a request twice
	HungHolder  time.Duration     `json:"hung_holder,omitempty"` // for how long a lock that renews leases by itself may keep a hung holder's, ns
	DeadWaiter  time.Duration     `json:"dead_waiter,omitempty"` // how long a lock with a queue waits for each waiter that is gone, ns
	Faults      []string          `json:"faults"`                // that the campaign was asked to inject
	Properties  []string          `json:"properties,omitempty"`  // that the scenario names: some are judged only if they are
	Nemesis     string            `json:"nemesis"`               // random, guided, schedule, none
	Versions    map[string]string `json:"versions"`              // redis, go, lockpick
	Scenario    string            `json:"scenario,omitempty"`    // the scenario's YAML, replayable
}

// How the ends of leases are known if the clients do not state them.
const (
	UntilTTL      = "ttl"      // a lease lasts for the TTL, from when its client requested it (or states its end)
	UntilReleased = "released" // the lock promises no time: a lease lasts until it is released
)
