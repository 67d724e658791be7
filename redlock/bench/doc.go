// Bench measures redlock beside the locks that people use, on the same masters and in
// the same run: five redis-server processes on the loopback, without persistence.
//
//	go run .                         everything, some minutes
//	go run . -only pairs,stopped     only these tables
//	go run . -rounds 25 -time 0.3s   many short rounds, on a machine that is not quiet
//
// How far one lock is ahead of another is the median of the rounds' ratios: the contestants
// take turns within a round, so that what else the machine does hits all of them alike. How far
// the ratios range is told, too. The floor is what the machine can do at all: the same commands, in
// full pipelines, without a lock around them. Where that ranges widely, the machine is not quiet.
package main
