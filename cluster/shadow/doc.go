// Package shadow gives an account of what one real Redis master does to its keys.
//
//	Redis ──► stream: one connection with HELLO 3, keyspace events and MONITOR
//	             │ events of a command, then its line, in the order of execution
//	             ▼
//	          grouping: scripts, transactions, clients served while they were blocked
//	             │
//	             ▼
//	          keys: a copy of the master's keys, which follows the lines and must
//	             │  agree with the events; a snapshot of the master settles doubts
//	             ▼
//	          cluster.Executed, in order
//
// Keyspace events say what happened to a key and why. Lines of MONITOR say which connection sent
// which command, and with that the value and the deadline of the key. The copy does not expire keys
// by a clock of its own: an event says when the master did.
//
// The copy has the values of strings. Of hashes, lists and sets it has the type and the deadline: no vote and no story rests
// on their elements, the lines do not say which ones SPOP took, and each snapshot would have to read them all.
package shadow
