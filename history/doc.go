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
// enter and leave say of each acquisition), Calls (which line began a call that
// another completes), Votes and Faults.
//
// Read and ReadFile keep a whole history, Scan and Reader read one without
// keeping it. All read plain and compressed files, refuse what cannot be judged
// with an error that names the line, and list everything else that is unusual as
// Problems.
//
// The codec is written by hand, because reading and writing lines is what a long
// run and its judgement mostly do. Processor time for a vote's line (BenchmarkDecode,
// BenchmarkEncode; one core of a virtual AMD EPYC):
//
//	                            decode     encode
//	this codec                  DECODE     ENCODE
//	github.com/goccy/go-json    DGOCCY     EGOCCY
//	encoding/json/v2            DV2     EV2
//	encoding/json               DV1     EV1
//
// None of the others finds fields that are unknown and fields that stand twice in that time.
package history
