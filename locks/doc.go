// Package locks lists the locks that are stored on Redis servers now: who holds which lock, for how long still, and on
// how many of the masters.
//
//	servers ──► Find (Sentinel) ──► read (SCAN, TYPE, PTTL, values) ──► shapes ──► join over the masters ──► Result
//
// It sends commands that read only, and limits how much it reads. Whether a key is a lock follows from what it
// stores and from its name. What is not certain says so.
package locks
