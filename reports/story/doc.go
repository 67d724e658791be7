// Package story draws one violation: as text, and as pictures.
//
//	violation ──► events ──► steps ──► Prose, Steps
//	                           ├─────► drawing ──► Diagram (text), SVG, Mermaid, ITF
//	                           └─────► Figure ──► Card
//
// The checker has turned the violation into a list of events. prose.go groups them into steps, which have the same numbers
// everywhere. diagram.go chooses the lifelines: the clients of the two leases, the masters that decided, the storage.
// snapshot.go replays the events, so that each picture shows what masters store and clients believe at a step.
package story
