package workload

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockpick/cluster"
)

// Command is the program that runs as a client process.
type Command struct {
	Args []string // the program first
	Env  []string // NAME=value, in addition to the harness's own environment
	Lock string   // the name that the client is given in init; empty: none
	// Log opens the file to which a client process's stderr is appended; nil: only the end of
	// stderr is kept.
	Log func(client string) (io.WriteCloser, error)
	// Clocks makes the clocks of a client that cannot bend its own; nil: nothing bends clocks, and
	// clients are started as they are.
	Clocks func() (ProgramClocks, error)
}

// ProgramClocks are the clocks of a program that runs unchanged, with Env in its environment. They
// are right until Set bends them. Times are what the machine's CLOCK_MONOTONIC shows, in ns.
type ProgramClocks interface {
	Env() []string
	// Bend returns nil if the processes of a group go by the clocks, and otherwise why not.
	Bend(group int) error
	// Set bends them at once, also of a process that is stopped.
	Set(to cluster.Clock) error
	Shown(at int64) int64   // what the program's monotonic clock shows at a true time
	True(shown int64) int64 // its inverse; for a time to come, it changes with each Set
	Behind() time.Duration  // how much less they have counted than truth, in all
	Close() error
}

// Hello is a client process's description of itself in its answer to init.
type Hello struct {
	Can      []string  `json:"can,omitempty"`     // of the optional parts of the protocol, those that it has
	Library  string    `json:"library,omitempty"` // that it tests, with its version
	Masters  Masters   `json:"masters,omitempty"` // that it uses
	Lifespan *Lifespan `json:"ttl,omitempty"`     // the TTLs that it takes; nil: WholeMilliseconds
	Lease    string    `json:"lease,omitempty"`   // NoLease, or empty

	// Unbent is why nobody can bend its clocks; nil: it can (CanClock), or the harness can, or
	// nothing was to bend them.
	Unbent error `json:"-"`
}

// The optional parts of the protocol. A client that names none has none: it can acquire,
// release and exit.
const (
	CanExtend = "extend" // it understands the request extend
	CanFence  = "fence"  // its grants carry fencing tokens
	CanWrite  = "write"  // it checks the lease and sends writes itself, instead of the harness
	CanPoints = "points" // it reports when it reaches a point
	CanClock  = "clock"  // it understands the request clock
	CanVotes  = "votes"  // it reports the masters' votes; otherwise the harness reads them from the links
	CanShare  = "shared" // it serves several clients at once
)

// Abilities lists them.
var Abilities = []string{CanExtend, CanFence, CanWrite, CanPoints, CanClock, CanVotes, CanShare}

// NoLease as a client's description of its leases says that the lock promises no time: a lease
// is valid until it is released.
const NoLease = "none"

// Has reports whether the client has an optional part of the protocol.
func (h *Hello) Has(what string) bool { return slices.Contains(h.Can, what) }

// Bends reports whether its clocks can be bent, by itself or by the harness, if the harness was to.
func (h *Hello) Bends() bool { return h.Has(CanClock) || h.Unbent == nil }

// Lifespan describes the TTLs that a library accepts. The field names contain the unit.
type Lifespan struct {
	MinMS  float64 `json:"min_ms,omitempty"`  // the shortest
	UnitMS float64 `json:"unit_ms,omitempty"` // all are multiples of it
}

// WholeMilliseconds are the TTLs of a client that does not say which it takes: it may hand the
// number on to Redis, which refuses fractions.
var WholeMilliseconds = Lifespan{UnitMS: 1}

// Fits returns what is wrong with a TTL for the library, or nil.
func (l *Lifespan) Fits(ttl time.Duration) error {
	if l == nil {
		return nil
	}
	least, unit := time.Duration(l.MinMS*float64(time.Millisecond)), time.Duration(l.UnitMS*float64(time.Millisecond))
	switch {
	case ttl < least:
		return fmt.Errorf("its TTLs are at least %v, and the run's is %v: use --ttl %v or more", least, ttl, least)
	case unit > 0 && ttl%unit != 0:
		return fmt.Errorf("its TTLs are multiples of %v, and the run's is %v: use --ttl %v", unit, ttl, max(least, (ttl+unit-1)/unit*unit))
	}
	return nil
}

// Masters is how many masters a library uses: 1, or all of them ("n", or no value).
type Masters int

// AllMasters says that the library uses all masters.
const AllMasters Masters = 0

// UnmarshalJSON accepts 1 and "n".
func (m *Masters) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "1", `"1"`:
		*m = 1
	case `"n"`, "null":
		*m = AllMasters
	default:
		return fmt.Errorf(`masters is %s: it is 1 or "n"`, b)
	}
	return nil
}

// MarshalJSON is the reverse of UnmarshalJSON.
func (m Masters) MarshalJSON() ([]byte, error) {
	if m == 1 {
		return []byte("1"), nil
	}
	return json.Marshal("n")
}

// Check returns what is wrong with a client's description of itself, or nil.
func (h *Hello) Check() error {
	if h.Lease != "" && h.Lease != NoLease {
		return fmt.Errorf("lease is %q: it is %q or left out", h.Lease, NoLease)
	}
	for _, c := range h.Can {
		if !slices.Contains(Abilities, c) {
			return fmt.Errorf("can names %q: it is any of %s", c, strings.Join(Abilities, ", "))
		}
	}
	return nil
}
