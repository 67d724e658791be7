// Package keyspace is what Redis commands do to the keys of a server: the types of values, their
// expiry, and the commands that only read or write keys. It has no clock, network or disk.
//
//	Store     the keys; it reports every change
//	  ▲
//	DB        the keys at one time of the server's clock
//	  ▲
//	Command   one row of the table Commands
//
// Replies and error texts are those of Redis 7.0. The simulated masters (cluster/sim) add the
// commands that need a server: transactions, scripts and messages. They also let connections wait
// whose blocking commands found nothing (Wait).
package keyspace
