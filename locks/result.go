package locks

import (
	"time"
)

// Options limits what is read.
type Options struct {
	Match   string // pattern of SCAN: only matching keys are read, and all of them count as locks; empty: any key
	MaxKeys int    // keys that are read of each server; 0: DefaultMaxKeys
	// TTL is what the locks set, which tells when they set it; 0: not known.
	TTL time.Duration
	// settle is the time after which a key that fewer than a quorum of the servers store is read again; 0: one second.
	settle  time.Duration
	settled func() // called then; for tests
}

// DefaultMaxKeys is the number of keys that are read of each server unless Options says otherwise.
const DefaultMaxKeys = 100_000

// Limits of what is read of a key.
const (
	maxValue   = 512 // bytes of a string
	maxMembers = 100 // fields of a hash, members of a set or list
)

// Result is what the servers store.
type Result struct {
	At       time.Time `json:"at"`
	Servers  []Server  `json:"servers"`
	Quorum   int       `json:"quorum"` // servers on which a lock must be stored to be held
	Locks    []Lock    `json:"locks"`
	Complete bool      `json:"complete"` // all keys of all servers were read
	Notes    []string  `json:"notes"`
}

// Server is what is known about a server.
type Server struct {
	Name     string `json:"name"` // m1, m2, …
	Address  string `json:"address"`
	Server   string `json:"server,omitempty"` // the name and version that it reports; empty: it does not tell
	Keys     int    `json:"keys"`             // that were read
	Complete bool   `json:"complete"`         // these are all
	Blocked  int    `json:"blocked_clients"`  // that wait in a blocking command; -1: not known
	Error    string `json:"error,omitempty"`  // why it could not be read
}

// State says whether a lock is held.
type State string

// The states. Only those of several servers can be other than Held.
const (
	Held       State = "held"
	LeftBehind State = "left behind" // on fewer servers than a quorum, with the same value one second later
	Passing    State = "passing"     // on fewer servers than a quorum, and changed within one second: somebody acquires or releases it
	Unclear    State = "not known"   // with the servers that could not be read, it may be on a quorum
)

// Lock is a key that is a lock, or looks like one.
type Lock struct {
	Key      string   `json:"key"`
	Type     string   `json:"type"`            // that TYPE returns
	Why      string   `json:"why"`             // why it counts as a lock
	Certain  bool     `json:"certain"`         // false: what it stores may also be something else than a lock
	Holders  []Holder `json:"holders"`         // more than one: a semaphore, readers, or different holders on different servers
	More     int      `json:"more,omitempty"`  // holders that were not read
	Waiters  []string `json:"waiters"`         // tokens in the lock's queue
	Listen   int      `json:"subscribers"`     // connections that are subscribed to the lock's channel; -1: not known
	Problems []string `json:"problems"`        // no TTL, no owner, different holders on different servers
	Queues   []string `json:"queues,omitzero"` // the keys of the waiters
}

// Holder is an owner of a lock.
type Holder struct {
	Owner string `json:"owner"`           // token, or the field of a hash; empty: the lock stores none
	Mode  string `json:"mode,omitempty"`  // read or write
	Count int64  `json:"count,omitempty"` // how often a re-entrant lock was acquired
	State State  `json:"state"`
	// On names the servers that store it.
	On []string `json:"on"`
	// Left is the time until fewer than a quorum of the servers still store it, and Endless says that no time was set.
	Left    time.Duration `json:"left_ns"`
	Endless bool          `json:"no_ttl"`
	// Untouched is how long no command has read or changed the key (OBJECT IDLETIME): the holder has held it for at
	// least as long. 0: not known.
	Untouched time.Duration `json:"held_at_least_ns"`
	// Set is how long ago a client set the TTL (Options.TTL): it acquired or extended the lock then. 0: not known.
	Set time.Duration `json:"ttl_set_ago_ns,omitempty"`
	// Stored is the time that the lock stores beside its holder, which may be that of the acquisition or the end.
	Stored *time.Time `json:"stored_time,omitempty"`
}

// Count returns the numbers of holders that hold a lock, that are left behind, and whose key has no TTL.
func (r *Result) Count() (held, leftBehind, endless int) {
	for _, l := range r.Locks {
		for _, h := range l.Holders {
			switch {
			case h.State == LeftBehind:
				leftBehind++
			case h.State == Held:
				held++
			}
			if h.Endless {
				endless++
			}
		}
	}
	return held, leftBehind, endless
}
