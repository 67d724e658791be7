// Package facts computes what a history says about the run that it records: no property, and no words.
//
//	History ──► Leases ──► HoldsOf ─► Contended          LeaseAt, LeasesByToken, After
//	        ──► Votes ───► Requests, Attempts, CommandLogs, BackingOf
//	        ──► Acquires ─► Waits, QueueDelay             Healed, Cancelled
//	        ──► Faults ──► FaultsWithin, TookEffect, FaultyPeriod, StruckAt
//	        ──► Pauses, Stalls, StatesOf ──► Reachable, ReachOf, RestartedIn
//	        ──► KeyChanges, Writes, StoredUnder
//
// A fact is a method of Run. What costs more than a glance is computed once, when somebody first asks (lazy), so a
// property pays only for the facts that it uses, and the order of questions does not matter. The properties (package
// checker) and what explains their violations (package narrative) ask here, so that both mean the same by a lease, a
// request or a restart.
package facts
