// Package exhaust tries every schedule within small Bounds. Each execution follows a path of choices in its
// own simulated world, and the search continues from each state only once.
//
// # Shards
//
// Many machines can share a search. It begins in the same way on each of them: it takes choices from the
// frontier, those with the fewest faults first and of these the earliest, until at least Options.Prefixes
// choices are open. These choices are distributed, and each shard continues from its own choices with its own
// set of states. That set begins with the common states, which all shards have visited by then. Division and
// results depend on the number of prefixes, which is the same for all shards of a search, and not on the
// number of shards.
//
// The shards leave nothing out. Take any run, and the last common state that it reaches. If its choice there
// was taken before the division, the run ends without another choice, and every shard has seen the end. If
// not, the choice belongs to one shard. From there on the run reaches no common state, so that shard follows
// it, or has followed another run from the same state, which continues in the same way. So the states of all
// shards together are those of a search on one machine. A state that several shards visit is counted once, by
// its hash (see Distinct).
//
// The shortest violation of the whole, with F faults and at the time T, is the shortest violation that any
// shard found. The reasons: each shard ends only when no open choice is as short as its shortest violation,
// and neither faults nor time decrease along a run.
//
// The reported run is also the same, however many shards there are. Several paths may lead to violations with
// F faults at T, and the states that a search has visited before decide which of them it finds first. So the
// reported run is the one with the least path, in lexicographic order, of a set that does not depend on that.
// The set contains the paths that lead to the violation before the division, and the paths of a second kind.
// Those begin with the path that reached a common state and a choice there that was open at the division, and
// lead from there to the violation without reaching a common state. A shard that ends has tried all choices
// up to F faults and T, those at T included. So its graph has all paths of the second kind that begin with
// its own choices, and the least path of the whole is the least one of the shards.
//
// A failed call of the lock ends a shard at once, because nothing can end a call that hangs. Of several
// failed calls, the one with the fewest faults and then the earliest time counts. A violation is reported
// instead only if it is shorter than everything that the failed shard had yet to try.
package exhaust
