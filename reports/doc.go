// Package reports tells people and machines what a run found: for the terminal,
// as one HTML page, and as JSON.
//
//	history ──► timeline (clients, masters, votes, writes) ──► HTML
//	   │
//	   └──► faults ─────┐
//	result ──► headline ┴──► levels, first violation ──► Terminal, HTML
//	   └──► JSON
//
// Every report answers in the same order: what is the verdict, what was run,
// which properties were judged and which were not, why the first violation
// happened, and how to look closer or run it again.
//
// The page is one file that loads nothing: styles, scripts and data are inside
// it, and its content security policy names its own script and style by their
// hashes, so that nothing else can run in it, whatever a key or an error in the
// history says. The timeline is derived in Go (lanes.go, masters.go, writes.go),
// encoded as columns of numbers (encode.go), and drawn on a canvas by the scripts
// under page/.
package reports
