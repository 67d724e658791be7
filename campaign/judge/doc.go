// Package judge judges the history of a run. It needs only the history, so it also judges the history of a
// harness that was killed, and logs of locks that Lockpick did not run.
//
//	history ──► checker: a verdict on each property ──► Result: the overall verdict, counts, notes
//	logs ─────► checker: mutual exclusion, for the holds that are certain
//
// A verdict needs evidence. A run that was cut short can only prove violations (see Conclude). If the checker
// contradicts itself, the error is a HarnessError and there is no verdict.
//
// History judges a history in memory. PackedFile judges long histories with little memory, File also returns
// the whole history, and ForReport returns as much of it as a report can show.
package judge
