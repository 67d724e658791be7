// Bench measures redlock beside the locks that people use, on the same masters and in
// the same run: five redis-server processes on the loopback, without persistence.
//
//	go run .                       everything, some minutes
//	go run . -only pairs,stopped   only these tables
//	go run . -rounds 7 -time 2s    longer, on a machine that is not quiet
//
// What one lock is ahead of another is a ratio of two medians: the contestants take
// turns, round by round, so that what else the machine does hits all of them alike. The
// floor is what the machine can do at all: the same commands, in full pipelines, without
// a lock around them.
package main
