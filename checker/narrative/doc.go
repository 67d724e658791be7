// Package narrative tells a violation: as a list of typed events, in the order in which they happened, and in words.
//
//	Violation ◄── Violated ◄── order, trim, join ◄── events
//	                                                 ├─ Lease, Request, Write: what clients and the storage did
//	                                                 ├─ Fault, Paused, Outlived: what went wrong meanwhile
//	                                                 └─ LostQuorum, LostKey: why masters no longer stored a key
//
// A judge of package checker begins a Narrative, adds what proves the violation, and ends it with Violated, which adds
// what the other events need to be understood (explainLosses), puts all in order and leaves out what came before and
// after. Terminal, story, diagram and page render these events and know nothing else, so an event has one time and one
// sentence everywhere. Cause names what a violation comes from, by its events.
//
// Package facts says what happened. This package knows no property: a Scope says what its narrative is about.
package narrative
