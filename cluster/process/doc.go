// Package process runs masters as redis-server processes of this host. It also contains the
// code that all drivers with real masters share: package docker uses it for its containers.
//
// The machine below a master has a clock and a disk that can be wrong, and its power can be
// cut. That needs no privileges: a shim (shim/shim.c) is loaded into the unmodified server. It
// is built with the host's C compiler when it is first needed. It reads its settings from
// shared memory, and logs there which data was fsynced. CutPower then removes all other data.
// Without the shim, these faults are cluster.ErrUnavailable, and everything else works.
package process
