// Package history is the evidence of a run: what every client, every master and
// the nemesis did, in the order in which it happened.
//
// A history is a header line and then one JSON object a line (see Op), appended
// the moment a thing happens, so that a harness that is killed loses nothing
// that it had recorded. The field names are Jepsen's: index, time, process,
// type, f, key, value, error.
//
//	campaign ──► Recorder ──► history.jsonl ──► Read ──► checker, reports
//	                 │
//	                 └──► observers (live progress, the guided nemesis)
//
// The recorder gets its time from whoever runs it, so the same code records
// real time and simulated time. Nothing is derived while recording: that a
// lease lapsed, or that two holds overlap, is for readers to conclude. The
// views that every reader needs are here: Leases (what acquire, extend, release,
// enter and leave say of each token), Votes and Faults.
package history
