// Package protocol is the interface between the lock and its masters: the commands and scripts
// that the lock sends, the votes that it receives, and the Runtime from which it gets time,
// goroutines and randomness. Users of the lock do not need this package. It is for masters
// that are not Redis servers, such as simulated ones, and for locks that follow other rules.
package protocol

import (
	"context"
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

// Listener is an optional interface of Masters that can announce releases (WithWakeups).
type Listener interface {
	// Listen calls heard whenever a master announces a release of key, until stop is
	// called. stop does not wait for calls that have begun. Calls of heard may be
	// concurrent; it must not block.
	Listen(key string, heard func(Released)) (stop func())
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

// Command is one Redis command, the same for every master.
//
// The two most frequent commands have a short form that allocates no slices: a Set or
// Recover with neither Script nor Args is SET Key Token NX PX TTL, and a Script with
// neither Keys nor Args gets Key as its only key and Token as its only argument.
type Command struct {
	Kind   Kind
	Key    string  // the lock's key on the master
	Token  string  // of the attempt
	TTL    int64   // of a Set, an Extend or a Recover, in ms
	Script *Script // nil: Args is a plain command
	Keys   []string
	Args   []any
	Wait   int // a yes counts only if this many replicas of the master have confirmed the command (WAIT)

	// Once is set for a release that must not be repeated, because it does more than delete the
	// key of the token: it counts, for example. Others are repeated until a master confirms them.
	Once bool
}

// Short reports whether a command is in the short form.
func (c *Command) Short() bool { return c.Keys == nil && c.Args == nil }

// Kind is the purpose of a command.
type Kind string

const (
	Set       Kind = "set"       // SET key token NX PX ttl
	Extend    Kind = "extend"    // compare-and-pexpire
	Release   Kind = "release"   // compare-and-delete
	Check     Kind = "check"     // compare: does the key store the token?
	Recover   Kind = "recover"   // SET key token NX PX ttl on a master whose vote a valid lease has lost
	WriteBack Kind = "writeback" // compare-and-raise the fencing counter to the highest one
)

// Vote is one master's reply to one command, or the reason why there is none.
type Vote struct {
	Master int    // its index
	Name   string // its name
	Kind   Kind
	Key    string // the lock's key on the master
	Token  string
	Yes    bool          // the command succeeded; for a Check: the key stores the token
	Reply  int64         // 1 for OK, 0 for nil, otherwise the integer that it replied
	Err    error         // the master did not reply, or replied with an error
	Took   time.Duration // from the call of Ask to the vote
	At     time.Time     // when the vote was cast, before anybody was notified; zero if that is not known
	TTL    time.Duration // of the command, if it has one
}
