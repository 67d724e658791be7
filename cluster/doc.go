// Package cluster runs the masters that a lock is tried on, and the links
// through which clients reach them, behind one interface. The drivers are packages of their own:
//
//	cluster/docker   redis-server in containers (dockertest)
//	cluster/process  redis-server processes of the host, each in its own directory
//	cluster/sim      simulated masters in virtual time
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
// can be cut. Where a driver cannot do that, these faults are ErrUnavailable, and
// everything else works.
//
// A master may have asynchronous replicas. A failover puts one of them in its
// place, behind the same links.
package cluster
