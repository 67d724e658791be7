// Bench measures redlock and other locks in wide use, on the same masters and in the same
// run: five redis-server processes on the loopback, without persistence.
//
//	go run .                         everything, some minutes
//	go run . -only pairs,stopped     only these tables
//	go run . -rounds 25 -time 0.3s   many short rounds, on a machine that is not quiet
//
// Locks are compared by the median of the rounds' ratios: the contestants take turns within a
// round, so that other load on the machine affects all of them alike. The range of the ratios is
// printed, too. The floor is the limit of the machine: the same commands in full pipelines,
// without a lock. If it varies widely, there is other load on the machine.
package main
