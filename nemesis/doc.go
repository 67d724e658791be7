// Package nemesis injects faults into a running campaign: into masters (pause,
// kill, shutdown), into the links between clients and masters (partition, slow),
// and into clients (client-pause).
//
//	schedule ─┐                       ┌─► cluster.Master, cluster.Link
//	random ───┼─► Step ─► inject ─────┤
//	guided ───┘    (kind, targets,    └─► workload's pauses
//	     ▲          how long)                │
//	     └── what it sees: votes, leases ◄── history
//
// A Step says what to do to whom for how long. Three authors write steps: an
// explicit schedule (with times or triggers), the random nemesis, and the guided
// one, which reads the votes and strikes the masters on which exclusion hangs.
//
// Every fault is recorded when it is installed (or skipped, and why) and when it
// is healed, with evidence whether it bit. Faults overlap; each heals at the end of
// its window, and all have healed when Run returns.
package nemesis
