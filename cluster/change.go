package cluster

import "time"

// ChangeKind says what happened to a key.
type ChangeKind string

// These are the kinds of changes.
const (
	Created  ChangeKind = "created"  // it was absent before
	Changed  ChangeKind = "changed"  // it existed, and its value was replaced or modified
	Deadline ChangeKind = "ttl"      // it keeps its value: at most its deadline is another one
	Deleted  ChangeKind = "deleted"  // by a command
	Expired  ChangeKind = "expired"  // its deadline had passed
	Evicted  ChangeKind = "evicted"  // the master needed memory
	Lost     ChangeKind = "lost"     // it is absent after a restart or a failover
	Restored ChangeKind = "restored" // after a restart or a failover it is there with another value or deadline than before
)

// Gone reports whether the key is absent afterwards.
func (k ChangeKind) Gone() bool {
	return k == Deleted || k == Expired || k == Evicted || k == Lost
}

// Change is what a master did to one key.
type Change struct {
	Key     string
	Kind    ChangeKind
	Type    string        // string, hash, list, set, zset: of the value afterwards, or before if the key is gone
	Value   string        // the string that the key stores afterwards; "" for other types
	Before  string        // the string that the key stored before
	Expires int64         // the deadline in ms since 1970 on the master's clock; 0: none. Of a key that is gone: the deadline before
	Left    time.Duration // time to the deadline on the master's clock when the change was made; 0: no deadline
	Members []Member      // of a hash, list, set or sorted set: what was added, changed or removed
	Call    []string      // the command that changed the key, if a script or a transaction did; otherwise nil
}

// Member is a changed part of a value that is not a string: a field of a hash with its value, a member of a
// sorted set with its score, a member of a set, or an element of a list.
type Member struct {
	Name          string
	Kind          ChangeKind // Created, Changed or Deleted
	Value, Before string     // the field's value or the member's score afterwards and before
}

// Executed is one command that changed keys, or something that a master did by itself. A script or a
// transaction is one Executed.
type Executed struct {
	Conn    int64    // number of the connection, as CLIENT ID returns it; 0: the master itself
	Client  string   // the client whose link the connection uses; "": the master itself, or it is not known
	Args    []string // the command as the client sent it: SET …, EVALSHA …, or EXEC for a transaction; nil: the master itself
	Changes []Change // in order
	Apart   bool     // done by a primary that lives on for some clients after a failover
}

// Exchange is one command that a client sent over a connection, and what became of it.
type Exchange struct {
	Client   string
	Master   int       // 0 is m1
	Conn     int64     // number of the connection on the master, as CLIENT ID returns it; 0: it has executed no command
	Args     []string  // as it was sent
	Sent     time.Time // when the client wrote it
	Answered time.Time // when the client could read the reply, or when the connection ended
	Reply    []byte    // the encoded reply; nil: the connection ended before it arrived
	Executed bool      // the master had executed it by then
	Changes  []Change  // what it changed
}
