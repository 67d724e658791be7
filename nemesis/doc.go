// Package nemesis injects faults into a running campaign: into masters (such as pause,
// kill, shutdown), into the links between clients and masters (such as partition, slow),
// and into clients (such as client-pause).
//
//	schedule ─┐                       ┌─► cluster.Master, cluster.Link
//	random ───┼─► Step ─► inject ─────┤
//	guided ───┘    (kind, targets,    └─► workload's pauses
//	     ▲          how long)                │
//	     └── votes and leases ◄──────────── history
//
// A Step describes a fault: its kind, its targets and its duration. Steps come from an
// explicit schedule (with times or triggers), from the random nemesis, or from the guided
// one. The guided nemesis reads the votes and hits the masters on which mutual exclusion
// depends.
//
// The nemesis records each fault when it is installed (or skipped, with the reason) and
// when it is healed, with evidence whether it took effect. Faults overlap; each heals at
// the end of its window, and all have healed when Run returns.
package nemesis
