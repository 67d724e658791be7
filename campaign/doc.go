// Package campaign runs a scenario: it starts the masters, lets clients and the
// nemesis loose on them, records the history, has it judged, and keeps it all in
// the store. Package scenario says what a run is, and package judge what its history
// proves; neither runs anything.
//
//	scenario (YAML, flags) ──► Run ──► cluster, workload, nemesis
//	                            │              │
//	                            │        history.jsonl ──► judge
//	                            ▼                            │
//	          store/<time>-<name>/  ◄──── result.json ◄──────┘
//
// A run goes through stages: the masters start; the clients work while the nemesis
// strikes; at the time limit (or the first violation, or Ctrl-C) the nemesis stops
// and everything heals; every client then visits every key once, which shows that
// locks can be acquired again; the history is judged. A history outlives a harness that
// is killed: to judge it takes nothing else.
package campaign
