package history

import "time"

// FormatVersion is the version of the format that this package writes.
//
// Version 2 added the end mark (FEnd), so that a history that was cut short is known as one,
// and the fields ttl, delay and redis_key.
const FormatVersion = 2

// Header is the first line of a history: what was run, and what a reader needs
// to know to judge it without the scenario.
type Header struct {
	Format      int               `json:"lockpick_history"` // FormatVersion
	Name        string            `json:"name"`             // of the scenario
	Started     time.Time         `json:"started"`          // wall clock at time 0
	Seed        uint64            `json:"seed"`
	Driver      string            `json:"driver"` // docker, process
	Lock        string            `json:"lock"`
	Masters     int               `json:"masters"`
	Quorum      int               `json:"quorum"`
	Persistence string            `json:"persistence"`
	Clients     int               `json:"clients"`
	Keys        int               `json:"keys"`
	TTL         time.Duration     `json:"ttl"`                  // ns
	Fencing     bool              `json:"fencing"`              // leases carry fencing tokens
	Resource    string            `json:"resource,omitempty"`   // how clients use the guarded resource, if it compares and sets
	Duplicates  bool              `json:"duplicates,omitempty"` // the simulated network may bring a request twice
	Faults      []string          `json:"faults"`               // that the campaign was asked to inject
	Properties  []string          `json:"properties,omitempty"` // that the scenario names: some are judged only if they are
	Nemesis     string            `json:"nemesis"`              // random, guided, schedule, none
	Versions    map[string]string `json:"versions"`             // redis, go, lockpick
	Scenario    string            `json:"scenario,omitempty"`   // the scenario's YAML, replayable
}
