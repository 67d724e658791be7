// Package judge makes the result of a run from its history. It needs nothing else, so it also judges
// the history of a harness that was killed, and logs of locks that Lockpick did not run.
//
//	history ──► checker: a verdict on each property ──► Result: the overall verdict, counts, notes
//	logs ─────► checker: mutual exclusion, of what is certain
//
// A verdict rests on evidence: a run that was cut short can only prove violations (Conclude), and a
// checker that contradicts itself gives a HarnessError and no verdict.
//
// History judges what is in memory. PackedFile judges long histories with little memory, File returns
// the whole history with its result, and ForReport as much of it as a report can show.
package judge
