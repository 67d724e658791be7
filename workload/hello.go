package workload

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// Command is the program that runs as a client process.
type Command struct {
	Args []string // the program first
	Env  []string // NAME=value, in addition to the harness's own environment
	Lock string   // the name that the client gets in init; empty: none
	// Log opens the file to which a client process's stderr is appended; nil: only the end of
	// stderr is kept.
	Log func(client string) (io.WriteCloser, error)
	// Clocks makes the clocks of a client that cannot skew its own; nil: such clients keep the
	// machine's clocks.
	Clocks func() (ProgramClocks, error)
}

// ProgramClocks are the clocks of a program that runs unchanged, with Env in its environment. They
// are right until Set skews them. Times are readings of the machine's CLOCK_MONOTONIC, in ns.
type ProgramClocks interface {
	Env() []string
	// Skew returns nil if the processes of a group use the clocks, and otherwise the reason why one
	// does not.
	Skew(group int) error
	// Set skews them at once, also those of a stopped process.
	Set(to cluster.Clock) error
	Shown(at int64) int64   // the reading of the program's monotonic clock at a true time
	True(shown int64) int64 // the inverse of Shown; for a future reading, the result changes with each Set
	Behind() time.Duration  // by how much the clocks have fallen behind true time
	Close() error
}

// Hello is a client process's description of itself in its answer to init.
type Hello struct {
	Can      []string  `json:"can,omitempty"`     // the optional parts of the protocol that the client has
	Library  string    `json:"library,omitempty"` // the library that it tests, with its version
	Masters  Masters   `json:"masters,omitempty"` // the masters that it says that it uses
	Lifespan *Lifespan `json:"ttl,omitempty"`     // the TTLs that it accepts; nil: WholeMilliseconds
	Lease    string    `json:"lease,omitempty"`   // NoLease, or empty

	Kind    history.LockKind `json:"kind,omitempty"`    // which holds may overlap; empty: a mutex
	Permits int              `json:"permits,omitempty"` // the most permits of a semaphore that one acquire can take; 0: all of them
	Fair    bool             `json:"fair,omitempty"`    // the lock claims to serve waiters in the order of their calls

	RetryMS      float64 `json:"retry_ms,omitempty"`       // the longest time between two attempts to acquire a key that nobody holds; 0: not stated
	DeadWaiterMS float64 `json:"dead_waiter_ms,omitempty"` // how long a lock with a queue waits for each waiter that is gone; 0: not stated

	// NoSkew is the reason why its clocks cannot be skewed; nil: the client can (CanClock), or the
	// harness can, or the run does not skew clocks.
	NoSkew error `json:"-"`
}

// These are the optional parts of the protocol. A client without any of them can acquire, release
// and exit.
const (
	CanExtend = "extend" // it understands the request extend
	CanFence  = "fence"  // its grants carry fencing tokens
	CanWrite  = "write"  // it checks the lease and sends writes itself, instead of the harness
	CanPoints = "points" // it reports when it reaches a point
	CanClock  = "clock"  // it understands the request clock
	CanVotes  = "votes"  // it reports the masters' votes; otherwise the harness reads them from the links
	CanShare  = "shared" // it serves several clients at once

	CanDowngrade = "downgrade" // it understands an extend with a mode, which makes a writer a reader
	CanUpgrade   = "upgrade"   // or a reader the writer
)

// Abilities lists all optional parts.
var Abilities = []string{CanExtend, CanFence, CanWrite, CanPoints, CanClock, CanVotes, CanShare, CanDowngrade, CanUpgrade}

// NoLease, as a client's description of its leases, says that the lock promises no time: a lease is
// valid until it is released.
const NoLease = "none"

// Has reports whether the client has an optional part of the protocol.
func (h *Hello) Has(what string) bool { return slices.Contains(h.Can, what) }

// Retry returns the longest time between two attempts to acquire a key that nobody holds; 0: the client states none.
func (h *Hello) Retry() time.Duration { return milliseconds(h.RetryMS) }

// DeadWaiter returns how long the lock waits for each waiter that is gone; 0: the client states no such time.
func (h *Hello) DeadWaiter() time.Duration { return milliseconds(h.DeadWaiterMS) }

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// Skews reports whether the client or the harness can skew the client's clocks. It is also true in
// a run that does not skew clocks.
func (h *Hello) Skews() bool { return h.Has(CanClock) || h.NoSkew == nil }

// Lifespan describes the TTLs that a library accepts. The field names contain the unit.
type Lifespan struct {
	MinMS  float64 `json:"min_ms,omitempty"`  // the shortest
	MaxMS  float64 `json:"max_ms,omitempty"`  // the longest; 0: no limit
	UnitMS float64 `json:"unit_ms,omitempty"` // all TTLs are multiples of it
}

// WholeMilliseconds describes the TTLs of a client that does not state which ones it accepts: it
// may pass the number on to Redis, which refuses fractions.
var WholeMilliseconds = Lifespan{UnitMS: 1}

// Misfit says that a library does not accept a TTL, and which it does.
type Misfit struct{ says, Use string }

func (m *Misfit) Error() string { return m.says }

// Fits returns a *Misfit if the library does not accept a TTL.
func (l *Lifespan) Fits(ttl time.Duration) error {
	if l == nil {
		return nil
	}
	least, most, unit := milliseconds(l.MinMS), milliseconds(l.MaxMS), milliseconds(l.UnitMS)
	switch {
	case ttl < least:
		return &Misfit{fmt.Sprintf("its TTLs are at least %v, and the run's is %v", least, ttl), fmt.Sprintf("%v or more", least)}
	case most > 0 && ttl > most:
		return &Misfit{fmt.Sprintf("its TTLs are at most %v, and the run's is %v", most, ttl), fmt.Sprintf("%v or less", most)}
	case unit > 0 && ttl%unit != 0:
		return &Misfit{fmt.Sprintf("its TTLs are multiples of %v, and the run's is %v", unit, ttl), fmt.Sprint(max(least, (ttl+unit-1)/unit*unit))}
	}
	return nil
}

// Masters is which masters a lock says that it uses. The zero value: it does not say. Then a lease that asked fewer masters than a
// majority is not known to be wrong.
type Masters int

const (
	OneMaster  Masters = 1  // the first
	AllMasters Masters = -1 // all: each lease needs a majority of them; "n" in JSON
)

// UnmarshalJSON accepts 1 and "n".
func (m *Masters) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "1", `"1"`:
		*m = OneMaster
	case `"n"`:
		*m = AllMasters
	case "null":
		*m = 0
	default:
		return fmt.Errorf(`masters is %s: it is 1 or "n"`, b)
	}
	return nil
}

// MarshalJSON writes 1, "n" or null.
func (m Masters) MarshalJSON() ([]byte, error) {
	switch m {
	case OneMaster:
		return []byte("1"), nil
	case AllMasters:
		return []byte(`"n"`), nil
	}
	return []byte("null"), nil
}

// Check returns an error if a client's description of itself is invalid.
func (h *Hello) Check() error {
	if h.Lease != "" && h.Lease != NoLease {
		return fmt.Errorf("lease is %q: it is %q or left out", h.Lease, NoLease)
	}
	if h.Kind != "" && !slices.Contains(history.LockKinds, h.Kind) {
		return fmt.Errorf("kind is %q: it is one of mutex, rw, semaphore, reentrant, multi, or left out", h.Kind)
	}
	if h.Permits < 0 || h.Permits > history.MaxPermits {
		return fmt.Errorf("permits is %d: it is from 1 to %d, or left out", h.Permits, history.MaxPermits)
	}
	limit := MaxStated.Milliseconds()
	for _, stated := range []struct {
		name string
		ms   float64
	}{{"retry_ms", h.RetryMS}, {"dead_waiter_ms", h.DeadWaiterMS}} {
		if stated.ms < 0 || stated.ms > float64(limit) {
			return fmt.Errorf("%s is %v: it is from 0 to %d, or left out", stated.name, stated.ms, limit)
		}
	}
	for _, c := range h.Can {
		if !slices.Contains(Abilities, c) {
			return fmt.Errorf("can names %q: it is any of %s", c, strings.Join(Abilities, ", "))
		}
	}
	return nil
}
