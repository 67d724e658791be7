// Package cluster runs the masters that a lock is tried on, and the links
// through which clients reach them, behind one interface with a driver each:
//
//	docker   redis-server in containers (dockertest)
//	process  redis-server processes of the host, each in its own directory
//
//	client c1 ──link──► m1      a link passes, holds or drops requests and
//	          ──link──► m2      replies apart, delays, refuses, resets;
//	          ──link──► m3      a master is paused, killed, shut down, started
//
// The nemesis acts on Master and Link alone, so whatever drives the masters is
// hurt in the same way. Link is per client and master: a partition cuts some
// clients from some masters and leaves the others alone, which no switch on the
// master's side can do.
//
// Below a master is its machine, whose clock and disk can be wrong and whose power
// can be cut. That needs no privileges: a shim of ours is loaded into the unmodified
// server (shim/shim.c), built with the host's C compiler when it is first needed.
// It reads from a page of shared memory what to do, and keeps a ledger there of
// what was fsynced, to which CutPower then cuts the data. Where there is no shim,
// these faults are ErrUnavailable, and everything else works.
//
// A master may have asynchronous replicas. A failover puts one of them in its
// place, behind the same links.
package cluster
