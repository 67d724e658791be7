// Package exhaust tries every schedule within small Bounds: an execution follows a path of
// choices in a world of its own, and the search goes on from each state once.
//
// # Shards
//
// Many machines can share a search. It begins alike on each of them: choices are taken from the
// frontier, those with the fewest faults first and of these the earliest, until at least
// Options.Prefixes choices are open. These choices are dealt out, and each shard goes on from
// its own ones with its own set of states, which begins with those that all shards have visited
// by then, the common states. Division and results depend on the number of prefixes, which is
// the same for all shards of a search, and not on the number of shards.
//
// Nothing is left out. Take any run, and the last common state that it comes to. If the choice
// there was taken before the division, the run ends without another choice, and every shard has
// seen how. If not, the choice belongs to a shard. From there on the run comes to no common
// state, so that shard follows it, or has followed another run from the same state, which goes
// on alike. So the states of all shards together are those of a search by one machine; a state
// that several of them visit is counted once, by its hash (see Distinct).
//
// The shortest violation of the whole is the shortest that a shard has found, because each
// shard ends only when no open choice is as short as its shortest violation, with F faults and
// at the instant T, and because neither faults nor time decrease along a run.
//
// Also the run that is shown is the same, however many shards there are. Several paths may lead
// to violations with F faults at T, and which of them a search comes across first depends on
// the states that it has visited before. So of all these the one with the least path, in
// lexicographic order, is taken from a set that does not depend on that: paths that lead to the
// violation before the division, and paths that consist of a choice that was open at the
// division, with the path by which its common state was reached, and of anything that leads
// from there to the violation without coming to a common state. A shard that ends has tried all
// choices up to F faults and T, those at T included. So its graph has all paths of the second
// kind that begin with its own choices, and the least path of the whole is the least one of the
// shards.
//
// A call of the lock that fails ends a shard at once, because nothing can end a call that hangs.
// Of several failed calls the one counts that was found after the fewest faults and the least
// time. A violation is reported instead only if it is shorter than all that the failed shard
// had yet to try.
package exhaust
