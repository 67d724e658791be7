// Package protocol is between the lock and its masters: the commands and scripts that it
// sends, the votes that it gets, and what it needs of time. Who uses the lock does not need
// this package. It is for masters of another kind than Redis servers, such as simulated
// ones, and for locks with other rules.
package protocol

import (
	"context"
	"iter"
	"time"
)

// Masters are N independent Redis masters. redlock.New makes them from go-redis clients.
type Masters interface {
	// Names has a name for each master, for errors and hooks.
	Names() []string
	// Begin starts the conversation about one acquisition attempt. observe, unless it is
	// nil, is called with every vote, also with those that come after the caller has
	// stopped taking them; it may be called concurrently and must not block.
	Begin(observe func(Vote)) Conversation
}

// Listener is what Masters may be, too: they can tell that a lock was released.
type Listener interface {
	// Listen calls heard whenever a master announces a release of key, until stop is
	// called, which does not wait. heard may be called concurrently, and must not
	// block.
	Listen(key string, heard func(Released)) (stop func())
}

// Released is what a master announces when it has deleted a key.
type Released struct {
	Token   string // of the lease that was released
	Waiters int    // clients that listen; 0: not known
}

// Conversation is about one token. Its commands reach each master in the order
// in which they were asked: a release never overtakes its own SET.
type Conversation interface {
	// Ask sends cmd to the masters in to (indices; nil: all) at once and yields
	// their votes as they come. A master that does not reply within timeout
	// (from when its turn comes in this conversation) votes with an error; one that
	// answers others meanwhile may have more time. The sequence ends when all have voted, or when ctx ends. Every command that
	// was asked is carried through, even if the caller stops taking votes.
	Ask(ctx context.Context, cmd Command, to []int, timeout time.Duration) iter.Seq[Vote]
}

// Command is one Redis command, the same for every master.
//
// The two that make up most of what a lock says have nothing to be put together for: a
// Set with neither Script nor Args is SET Key Token NX PX TTL, and a Script with
// neither Keys nor Args has Key for its key and Token for its argument.
type Command struct {
	Kind   Kind
	Key    string // what is locked
	Token  string
	TTL    int64   // ms, that a Set or an Extend asks for
	Script *Script // nil: Args is a plain command
	Keys   []string
	Args   []any
	Wait   int // so many of a master's replicas must have it before the master's yes counts (WAIT)
}

// Short says that a command has no words of its own.
func (c *Command) Short() bool { return c.Keys == nil && c.Args == nil }

// Kind says what a command is for.
type Kind string

const (
	Set       Kind = "set"       // SET key token NX PX ttl
	Extend    Kind = "extend"    // compare-and-pexpire
	Release   Kind = "release"   // compare-and-delete
	Check     Kind = "check"     // whether the key holds our token
	Recover   Kind = "recover"   // SET key token NX PX ttl, where a valid lease has lost a vote
	WriteBack Kind = "writeback" // the highest fencing token, where the key still holds our token
)

// Vote is one master's reply to one command.
type Vote struct {
	Master int // its index
	Name   string
	Kind   Kind
	Key    string
	Token  string
	Yes    bool  // it did what was asked
	Reply  int64 // what it answered: 1 for OK, 0 for nil, an integer as it is
	Err    error // it did not answer, or answered with an error
	Took   time.Duration
	At     time.Time     // when its reply was there, before anybody heard of it; zero if that is not known
	TTL    time.Duration // that a Set or an Extend asked for, if its Command says so
}
