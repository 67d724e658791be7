// Package reports renders a run, and what a search made of one, for people and machines: in the terminal, as a page, as
// JSON, and in the formats of other tools.
//
//	history ──► timeline (clients, masters, votes, writes) ──► HTML
//	   │
//	   └──► faults ─────┐
//	result ──► headline ┴──► levels, first violation ──► Terminal, HTML
//	   └──► JSON, exports
//
// Every report of a run begins with the verdict and ends with the way to look closer or run it
// again. Between them are the configuration of the run, the reason of the first violation, and all
// properties, including those that were not tested.
//
// The page of a run is one file that loads nothing: styles, scripts and data are inside it. Go code derives the timeline
// (lanes.go, masters.go, writes.go) and encodes it as columns of numbers (encode.go); the scripts
// under page/ draw it on a canvas.
//
// The parts that other reports need, too, are below: term writes for terminals, web has the frame of pages, junit writes
// JUnit, story draws one violation, diff compares two runs. Audits, claims, estimates and the store render themselves with
// these.
package reports
