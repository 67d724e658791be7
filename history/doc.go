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
// The caller gives the recorder its clock, so the same code records real time and
// simulated time. Nothing is derived while recording: readers conclude that a lease
// expired, or that two holds overlap. The views that every reader needs are here: Leases
// (the acquire, extend, release, enter and leave lines of each acquisition), Calls (which
// line began a call that another completes), Votes and Faults.
//
// Read and ReadFile keep a whole history, Scan and Reader read one without
// keeping it. All read plain and compressed files, refuse what cannot be judged
// with an error that names the line, and list everything else that is unusual as
// Problems.
//
// The codec is written by hand, because a long run and its judgement spend most of their
// time reading and writing lines. Processor time for the line of a vote, in ns, on one
// core of a shared virtual machine (BenchmarkDecode, BenchmarkEncode; the least of 41
// rounds in turn; the medians are higher, in the same proportions):
//
//	                              encode   decode   allocations
//	this codec                       160      460    1 a line
//	this codec, nothing is kept      160      300    none
//	github.com/goccy/go-json         320      520    9
//	encoding/json/v2               1,640    1,250    2
//	encoding/json                    740    3,210   15
//
// Of whole commands on the history of a simulated half an hour (520,830 lines, 106 MB), in
// seconds of processor time, the least of 7 rounds in turn:
//
//	                              lockpick check   lockpick run, 10 virtual minutes
//	this codec                              1.05                               1.35
//	github.com/goccy/go-json                1.73                               1.44
//	encoding/json/v2                        2.03                               2.12
//
// go-json is nearly as fast to decode a single line, but neither finds a field that is
// unknown or that stands twice, nor shares equal texts: a kept line would take half as
// much memory again.
// A simulated history of half an hour (489,403 lines) is scanned, checks included, at
// 1.8 to 2.5 million lines a second of processor time, and read and kept at 0.9 to 1.0
// million, with 451 bytes a line.
package history
