// Package checker judges a history: from operations to verdicts, one for each
// property (L1 to L5, RMW, FM, EXT, DF, AV), each with its proof and its reason.
//
//	facts.Run ──► leases ──► sweep ─────┐
//	                    └──► porcupine ─┴─► must agree ──► L2
//	          ──► enter, leave ──► L3      ──► apply ──► L4, L5, RMW
//	          ──► votes, snapshots of the masters ──► L1, EXT, orphaned keys
//	          ──► acquires after the last healing ──► DF, AV
//	          ──► clients that could reach a quorum but waited ──► DF, AV while faults last
//	judgement ──► conclude ──► Result, each violation with its narrative
//
// A property is a value (Property) in a file of its own, with its judge and what explains its violations. A judge asks
// package facts what happened and returns a judgement: the violations, the evidence that a verdict of Holds needs, and
// sentences. The one rule for verdicts is conclude's. What explains a violation adds events to a Narrative.
//
// Mutual exclusion is decided twice, by an exact sweep and by porcupine; if they
// disagree, that is a bug of Lockpick and reported as such. No verdict on safety
// ever rests on a failed acquire: Redlock may fail on a free lock. DF and AV are
// about acquires that fail, but only once all faults have healed, or while the waiting client
// can reach a quorum.
//
// A property that was not violated holds only if the run tested it. The verdict is Invalid if a
// requested fault is not known to have taken effect, or if there were too few leases. Watch
// counts violations of L2 while a run goes on.
package checker
