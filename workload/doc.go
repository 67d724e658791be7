// Package workload uses a lock during a campaign: concurrent clients acquire it, enter a
// critical section, read and write a guarded resource, sometimes extend, leave and release.
// They can be stopped at named points.
//
//	Lock (redlock, single, …)  ◄── client c1 ──►  Resource (plain, and its fenced copy
//	     │  votes                    │ every step       that checks fencing tokens)
//	     ▼                           ▼
//	  ────────────── history.Recorder ──────────────
//
// Clients are well-behaved: they check that their lease is valid before they enter and
// before each write, with a margin, and leave before it ends. So the lock is the cause of
// any violation, or a pause between a check and the action after it, which no lock can
// prevent.
//
// A lock under test is registered by name (Locks). Each client makes its own from an Env,
// which contains the client's access to the masters, and its source of time and randomness.
// This package does not depend on whether masters and time are real.
package workload
