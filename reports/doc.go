// Package reports renders results for people and machines: in the terminal, as HTML pages, as JSON,
// and in the formats of other tools.
//
//	history ──► timeline (clients, masters, votes, writes) ──► HTML
//	   │
//	   └──► faults ─────┐
//	result ──► headline ┴──► levels, first violation ──► Terminal, HTML
//	   └──► JSON
//
// Every report of a run begins with the verdict and ends with the way to look closer or run it
// again. Between them are the configuration of the run, the reason of the first violation, and all
// properties, including those that were not tested.
//
// The page of a run is one file that loads nothing: styles, scripts and data are inside it. Its
// content security policy names its own script and style by their hashes, so that nothing else can
// run in it, whatever a key or an error in the history contains. Go code derives the timeline
// (lanes.go, masters.go, writes.go) and encodes it as columns of numbers (encode.go); the scripts
// under page/ draw it on a canvas.
package reports
