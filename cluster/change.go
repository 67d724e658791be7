package cluster

import (
	"context"
	"strings"
	"time"

	"lockpick/cluster/resp"
)

// ChangeKind says what happened to a key.
type ChangeKind string

// The kinds of changes.
const (
	Created  ChangeKind = "created"  // the key did not exist
	Changed  ChangeKind = "changed"  // it existed, and its value was modified or replaced
	TTLSet   ChangeKind = "ttl"      // only its deadline was changed
	Deleted  ChangeKind = "deleted"  // by a command
	Expired  ChangeKind = "expired"  // its deadline had passed
	Evicted  ChangeKind = "evicted"  // the master's memory was full
	Lost     ChangeKind = "lost"     // a restart, a failover or a resynchronisation took it away
	Restored ChangeKind = "restored" // a restart, a failover or a resynchronisation brought it, or another value of it
)

// Gone reports whether the key does not exist after the change.
func (k ChangeKind) Gone() bool {
	return k == Deleted || k == Expired || k == Evicted || k == Lost
}

// Change is what a master did to one key.
type Change struct {
	Key    string
	Kind   ChangeKind
	Type   string        // string, hash, list, set, zset: of the value after the change, or before it if the key is gone
	Value  string        // the string that the key stores after the change; strings only
	Before string        // the string that it stored before; strings only
	Left   time.Duration // time from the change to the key's deadline, on the master's clock; 0: it has none
	Call   []string      // the command that did it, if a script or a transaction contains it; nil: the step's own command
	// Doubtful says why Type, Value, Before and Left are not known, and only Kind is; empty: they are certain.
	Doubtful string
}

// Executed is a step of a master's account: one command that it executed with everything that it
// did to keys meanwhile, or what it did by itself.
type Executed struct {
	Conn    string     // the address of the connection, as the master sees it; empty: the master did it by itself
	Client  string     // the client whose link the connection uses; empty: only the links know
	Apart   bool       // a primary did it that lives on for some clients after a failover
	Args    []string   // the command as the client sent it: EVALSHA for a script, EXEC for a transaction
	Calls   [][]string // the commands inside a script or transaction, in their order
	Changes []Change
	At      time.Time // when the harness learned of it; virtual and simulated masters: when it happened
	// Gap says why steps may be missing between the previous one and this one; empty: none is.
	Gap string
}

// Accountable is a Cluster that gives an account of what its masters do to their keys.
type Accountable interface {
	// Account calls f with each step of each master (0 is m1), in the order in which that master made
	// them, from several goroutines, one a master. It must be called before any client connects.
	// It returns an error if a master can give no account, for example because its server is too old.
	Account(f func(master int, x Executed)) error
	// Settled returns when everything that a master had executed before the call was passed on. It
	// returns an error if the master is down or paused, or ctx ends before.
	Settled(ctx context.Context, master int) error
}

// Exchange is a command that a client sent over a link, and what became of it.
type Exchange struct {
	Conn     string   // the address of the connection, as the master sees it
	Args     []string // the command's name first
	Sent     time.Time
	Answered time.Time   // when the reply came, or the connection ended
	Replied  bool        // there was a reply
	Error    string      // the reply's text, if it was an error
	Reply    *resp.Reply // valid during the call that passes the exchange on; nil: there was none

	// Masters in memory know at once what they have done with a command.
	Queued    bool     // it is part of a transaction: the exchange of its EXEC has its changes
	Accounted bool     // Executed and Changes are known; otherwise the master's account tells
	Executed  bool     // the master has executed it
	Changes   []Change // what it changed
}

// Refused returns the name of the command if it is one that masters refuse unless Config.Admin is set, and the reply is
// an error; otherwise "".
func (x *Exchange) Refused() string {
	if x.Error == "" {
		return ""
	}
	return Refused(x.Args[0], x.Args[1:]...)
}

// Denied returns the name in upper case of a command that the rules of the client's user do not allow (NOPERM), or "".
func (x *Exchange) Denied() string {
	if !strings.HasPrefix(x.Error, "NOPERM ") {
		return ""
	}
	return strings.ToUpper(x.Args[0])
}

// Observer receives what happens on a link.
type Observer struct {
	Opened   func(conn string) // a connection is open; it may be called a second time with another address of it
	Exchange func(Exchange)    // an exchange has ended, and its client has not received the reply yet
	Lost     func(why error)   // a connection cannot be followed any further
}

// Observable is a Link that can be observed.
type Observable interface {
	Observe(Observer) // observes the connections that are opened from now on
}

// Simulated is a Cluster of simulated masters, which do not model all of Redis.
type Simulated interface {
	// OnUnmodelled calls f when a client depends on something that a master does not model: what is
	// the name of a command. f must neither wait nor call the cluster.
	OnUnmodelled(f func(master, what string))
}
