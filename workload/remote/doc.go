// Package remote runs a client of a workload as a process of its own, so that signals can
// stop and kill it like a real program: the whole process at once, including its timers.
//
//	harness: Lock ──► requests, a JSON object a line ──► stdin  of `lockpick client`
//	              ◄── events and outcomes            ◄── stdout
//	              ──► SIGSTOP, SIGCONT, SIGKILL          │
//	                                                     └──► masters, through its links
//
// Serve is the side of the process, and Start that of the harness. The process has a lock
// under test and executes the requests of the harness with it. At the points at which a
// client can be stopped, it sends a message and waits for the request to continue: the
// harness then stops it with a signal, or lets it continue at once. docs/clients.md
// describes the protocol, which a program in any language can implement.
package remote
