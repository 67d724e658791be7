// Package term writes reports for a terminal, and has the formats of numbers, times and names that all reports share.
//
// A Writer collects a report: New takes the width and the colours, Text wraps paragraphs, Table lays out a Grid, and
// Flush writes everything at once. What servers and users wrote goes through Printable first, so that it can move no
// cursor. Packages embed a Writer to add the parts of their own reports.
package term
