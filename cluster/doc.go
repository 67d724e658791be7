// Package cluster runs the masters on which a lock is tested, and the links through which
// clients reach them, behind one interface. The drivers are packages of their own:
//
//	cluster/docker   redis-server in containers (dockertest)
//	cluster/process  redis-server processes of the host, each in its own directory
//	cluster/sim      simulated masters in virtual time
//
//	client c1 ──link──► m1      a link passes, holds or drops requests and
//	          ──link──► m2      replies apart, delays, refuses, resets;
//	          ──link──► m3      a master is paused, killed, shut down, started
//
// The nemesis only uses Master and Link, so faults are the same with every driver. There is one
// link per client and master: a partition cuts some clients off from some masters and leaves the
// others alone, which a fault on the master's side could not do.
//
// Each master has a machine, whose clock and disk can be wrong and whose power can be cut. If a
// driver cannot do that, these faults are ErrUnavailable, and everything else works.
//
// A master may have asynchronous replicas. A failover puts one of them in its
// place, behind the same links.
package cluster
