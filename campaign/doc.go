// Package campaign runs a scenario: it starts the masters, runs clients and the nemesis against them, records
// the history, lets it be judged, and stores everything as a run. Package scenario describes a run, and
// package judge judges a history; neither runs anything.
//
//	scenario (YAML, flags) ──► Run ──► Driver.Lend ──► cluster, workload, nemesis
//	                            │                              │
//	                            │                        history.jsonl ──► judge
//	                            ▼                                            │
//	          store/<time>-<name>/  ◄──────────── result.json ◄──────────────┘
//
// A Driver lends the masters: real ones, those in memory of package bubble, or a Simulation. Record does the same as Run on any
// driver without a store and a judgement, for searches and tests.
//
// A run has stages. The masters start. The clients work while the nemesis injects faults. At the time limit
// (or the first violation, or Ctrl-C) the nemesis stops and all faults heal. Every client then acquires every
// key once, which shows that locks can be acquired again. Finally the history is judged. The history of a
// killed harness remains, and lockpick check can judge it without anything else.
package campaign
