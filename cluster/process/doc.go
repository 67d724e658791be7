// Package process runs masters as redis-server processes of this host, and holds what all
// real masters have in common: package docker starts its containers through it.
//
// Below a master is its machine, whose clock and disk can be wrong and whose power
// can be cut. That needs no privileges: a shim of ours is loaded into the unmodified
// server (shim/shim.c), built with the host's C compiler when it is first needed.
// It reads from shared memory what to do, and logs there what was fsynced, to which
// CutPower then cuts the data. Where there is no shim,
// these faults are cluster.ErrUnavailable, and everything else works.
package process
