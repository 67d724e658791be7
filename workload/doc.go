// Package workload is what a campaign does with a lock: concurrent clients that
// acquire it, enter a critical section, read and write a guarded resource,
// sometimes extend, leave and release, and that can be stopped at named points.
//
//	Lock (redlock, single, …)  ◄── client c1 ──►  Resource (plain, and its fenced copy
//	     │  votes                    │ every step       that checks fencing tokens)
//	     ▼                           ▼
//	  ────────────── history.Recorder ──────────────
//
// Clients are well-behaved: they check that their lease is valid before they
// enter and before each write, with a margin, and leave before it ends. What still
// goes wrong is then the lock's doing, or that of a pause between a check and what
// follows it, which no lock can prevent.
//
// A lock under test is registered by name (Locks) and made anew for each client,
// from an Env: how that client reaches the masters, and what it gets its time and
// randomness from. Nothing here knows whether masters and time are real.
package workload
