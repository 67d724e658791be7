// Package remote runs a client of a workload as a process of its own, so that it can
// be stopped and killed as real programs are: all of it at once, its timers too.
//
//	harness: Lock ──► requests, a JSON object a line ──► stdin  of `lockpick client`
//	              ◄── events and outcomes            ◄── stdout
//	              ──► SIGSTOP, SIGCONT, SIGKILL          │
//	                                                     └──► masters, through its links
//
// Serve is the process's side and Start the harness's. The process has a lock under
// test and does with it what it is asked to. At the points at which a client can be
// stopped it says so and waits for leave to go on: the harness then stops it with a
// signal, or lets it go on at once. docs/clients.md describes the protocol, which any
// language can speak.
package remote
