// Package protocol is the interface between the lock and its masters: the commands and scripts
// that the lock sends, the votes that it receives, and the Runtime from which it gets time,
// goroutines and randomness. Users of the lock do not need this package. It is for masters
// that are not Redis servers, such as simulated ones, and for locks that follow other rules.
package protocol

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Masters are N independent Redis masters. redlock.New makes them from go-redis clients.
type Masters interface {
	// Names returns the name of each master, for errors and hooks. Its length is the number
	// of masters, and an index into it is the index of a master.
	Names() []string
	// Begin starts the conversation about one attempt to acquire a lock. If observe is not
	// nil, it is called with every vote, also with votes that arrive after the caller has
	// stopped taking them. Calls may be concurrent; observe must not block.
	Begin(observe func(Vote)) Conversation
}

// Listener, Connector, Monitor, Meter and Reader are what Masters can do besides. Those of
// redlock.New do all of it; without one of them the lock does without.

// Listener is an optional interface of Masters that can announce releases (WithWakeups).
type Listener interface {
	// Listen calls heard whenever a master announces a release of key, until stop is
	// called. stop does not wait for calls that have begun. Calls of heard may be
	// concurrent; it must not block.
	Listen(key string, heard func(Released)) (stop func())
}

// Connector is an optional interface of Masters that have connections.
type Connector interface {
	// Connect opens a connection to each master, and records in its health whether that
	// succeeded. It returns when all have answered or failed, or ctx ends.
	Connect(ctx context.Context)
}

// Monitor is an optional interface of Masters that watch their own health.
type Monitor interface {
	// Health returns the state of each master, in the order of Names, without sending a command.
	Health() []MasterHealth
	// OnSuspect sets the function to call when a master becomes suspect (Err is the reason), and
	// when it recovers (Err is nil). It is called before the first command, with f not nil.
	// Calls of f may be concurrent.
	OnSuspect(f func(MasterHealth))
}

// Meter is an optional interface of Masters that measure their round trips.
type Meter interface {
	// RoundTrip returns the longest round trip to a master. Masters without a reply do not count.
	RoundTrip() time.Duration
}

// Reader is an optional interface of Masters whose keys can be read, for people and tools.
type Reader interface {
	// Read returns what each master stores under the name of a key on the masters.
	Read(ctx context.Context, name string) []MasterKey
}

// MasterHealth is the state of a master.
type MasterHealth struct {
	Name string // its address, or "failover master N"
	// Err is the reason why the master is suspect; nil if it is not.
	Err error
	// RoundTrip is the duration of the fastest recent reply; 0 before the first reply.
	RoundTrip time.Duration
}

// MasterKey describes the key of a lock on one master.
type MasterKey struct {
	Name      string
	Token     string        // the value of the key (see redlock.Lease.Token); "" if there is no key
	Remaining time.Duration // the key's TTL; -1 if it has none
	Err       error         // set if the master did not answer, or answered with an error
}

// Released is the announcement of a master that it has deleted a key.
type Released struct {
	Token   string // of the lease that was released; "" if it is not known
	Waiters int    // number of clients that listen; 0 if it is not known
}

// Conversation is the exchange of commands and votes about one token. Each master receives
// the commands in the order of the calls of Ask: a release never overtakes its own SET. Once
// the votes on the first command arrive, calls of Ask may be concurrent.
type Conversation interface {
	// Ask sends cmd to the masters with the indices in to (nil: to all masters) at once,
	// and yields their votes as they arrive. If a master does not reply within timeout, its
	// vote is an error; a master that answers other commands meanwhile may have more time.
	// The sequence ends when all have voted, or when ctx ends. The masters execute the
	// command even if the caller stops taking votes, or ctx ends.
	Ask(ctx context.Context, cmd Command, to []int, timeout time.Duration) iter.Seq[Vote]
}

// Orderly is an optional interface of a Conversation that knows when a command has its place in
// the order of each master.
type Orderly interface {
	// Count does what Ask does for all masters, and hands each vote to count until it returns
	// false. It passes ticket, if it is not nil, as soon as no command of a later call can overtake
	// this one on any master. If it does not pass it, the caller does after the votes.
	Count(ctx context.Context, cmd Command, timeout time.Duration, ticket Ticket, count Counter)
}

// Counter counts votes. Functions in its place would be allocated for each command.
type Counter interface {
	// Count counts a vote, and reports whether it wants more.
	Count(Vote) bool
}

// Ticket lets one waiter after the other try to store a key.
type Ticket interface {
	// Pass lets the next waiter try. Only the first call has an effect.
	Pass()
}

// Command is one Redis command, the same for every master.
//
// The two most frequent commands have a short form that allocates no slices: a Set or
// Recover with neither Script nor Args is SET Key Token NX PX TTL, and a Script with
// neither Keys nor Args gets Key as its only key and Token as its only argument.
type Command struct {
	Purpose Purpose
	Key     string  // the lock's key on the master
	Token   string  // of the attempt
	TTL     int64   // of a Set, an Extend or a Recover, in ms
	Script  *Script // nil: Args is a plain command
	Keys    []string
	Args    []any
	Wait    int // a yes counts only if this many replicas of the master have confirmed the command (WAIT)

	// Once is set for a release that must not be repeated, because it does more than delete the
	// key of the token: it counts, for example. Others are repeated until a master confirms them.
	Once bool
}

// Short reports whether a command is in the short form.
func (c *Command) Short() bool { return c.Keys == nil && c.Args == nil }

// Purpose is the purpose of a command.
type Purpose string

const (
	Set       Purpose = "set"       // SET key token NX PX ttl
	Extend    Purpose = "extend"    // compare-and-pexpire
	Release   Purpose = "release"   // compare-and-delete
	Check     Purpose = "check"     // compare: does the key store the token?
	Recover   Purpose = "recover"   // SET key token NX PX ttl on a master whose vote a valid lease has lost
	WriteBack Purpose = "writeback" // compare-and-raise the fencing counter to the highest one
)

// Vote is one master's reply to one command, or the reason why there is none.
type Vote struct {
	Master  int    // its index
	Name    string // its name
	Purpose Purpose
	Key     string // the lock's key on the master
	Token   string
	Yes     bool          // the command succeeded; for a Check: the key stores the token
	Reply   int64         // 1 for OK, 0 for nil, otherwise the integer that it replied
	Err     error         // the master did not reply, or replied with an error
	Took    time.Duration // from the call of Ask to the vote
	At      time.Time     // when the vote was cast, before anybody was notified; zero if that is not known
	TTL     time.Duration // of the command, if it has one
}

// Failed reports whether the master replied with an error. Its error has the method of go-redis' errors then.
func (v *Vote) Failed() bool {
	var reply interface {
		error
		RedisError()
	}
	return errors.As(v.Err, &reply)
}

// ReleaseChannel returns the channel on which releases of a key are announced
// (redlock.WithWakeups). key is its name on the masters.
func ReleaseChannel(key string) string { return key + ":released" }
