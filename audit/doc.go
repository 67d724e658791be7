// Package audit says how safe a lock is: it runs a fixed battery of situations, and makes a
// report card of what they showed.
//
// A situation is something that happens to locks: a master restarts without its keys, a client
// stops between two commands. It names the assumption that it breaks, the scenarios that bring
// it about, and the properties that no lock keeps in it. Run tries each situation and judges
// every property: on simulated masters by many schedules, on real ones by few.
package audit
