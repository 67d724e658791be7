// Package history records and reads the evidence of a run: the operations of every
// client, every master and the nemesis, in the order in which they happened.
//
// A history is a header line and then one JSON object a line (see Op). Each line is
// appended when its event happens, so a harness that is killed loses no recorded
// operation. The field names are Jepsen's: index, time, process, type, f, key,
// value, error.
//
//	campaign ──► Recorder ──► history.jsonl ──► Read ──► checker, reports
//	                 │
//	                 └──► observers (live progress, the guided nemesis)
//
// The caller gives the recorder its clock, so the same code records real time and
// simulated time. The recorder derives nothing: readers conclude that a lease
// expired, or that two holds overlap. This package has the views that every reader needs: Leases
// (the acquire, extend, release, enter and leave lines of each acquisition), Calls (which
// line began a call that another completes), Votes and Faults.
//
// Read and ReadFile keep a whole history; Scan and Reader read one without keeping
// it. They return an error that names the line if a history cannot be judged, and
// list everything else that is unusual as Problems. ReadFile and ScanFile also read
// compressed files.
//
// The codec is written by hand, because a long run and its judgement spend most of their
// time encoding and parsing lines. Processor time for the line of a vote, in ns, on one
// core of a shared virtual machine (BenchmarkDecode, BenchmarkEncode; the minimum of 41
// rounds, with the codecs in turn; the medians are higher, in the same proportions):
//
//	                              encode   decode   allocations
//	this codec                       160      460    1 a line
//	this codec, keeping no values    160      300    none
//	github.com/goccy/go-json         320      520    9
//	encoding/json/v2               1,640    1,250    2
//	encoding/json                    740    3,210   15
//
// Processor time of whole commands on the history of a simulated half an hour (520,830 lines,
// 106 MB), in seconds, the minimum of 7 rounds with the codecs in turn:
//
//	                              lockpick check   lockpick run, 10 virtual minutes
//	this codec                              1.05                               1.35
//	github.com/goccy/go-json                1.73                               1.44
//	encoding/json/v2                        2.03                               2.12
//
// go-json decodes a single line nearly as fast, but it detects neither unknown fields nor
// fields that occur twice, and it does not share equal texts, so a kept line would take
// one and a half times the memory.
//
// Scan reads a simulated history of half an hour (489,403 lines), checks included, at 1.8 to
// 2.5 million lines a second of processor time. Read reads and keeps it at 0.9 to 1.0 million,
// with 451 bytes a line.
package history
