// Package audit reports how safe a lock is: it runs a fixed battery of situations, and makes a
// report card of the results.
//
// A situation is something that happens to locks: a master restarts without its keys, or a client
// stops between two commands. It names the assumption that it breaks, the scenarios that cause it,
// and the properties that no lock keeps in it. Run tries each situation and judges its properties:
// on simulated masters with many schedules, on real ones with few.
package audit
