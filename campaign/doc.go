// Package campaign runs a scenario: it starts the masters, lets clients and the
// nemesis loose on them, records the history, has it judged, and keeps it all in
// the store.
//
//	Scenario (YAML, flags) ──► Run ──► cluster, workload, nemesis
//	                            │              │
//	                            │        history.jsonl ──► checker
//	                            ▼                             │
//	          store/<time>-<name>/  ◄── result.json ◄── Judge ◄┘
//
// A run goes through stages: the masters start; the clients work while the nemesis
// strikes; at the time limit (or the first violation, or Ctrl-C) the nemesis stops
// and everything heals; every client then visits every key once, which shows that
// locks can be acquired again; the history is judged. A history outlives a harness that
// is killed: Judge needs nothing else.
package campaign
