// Package logs turns logs of locks that Lockpick never ran into histories that the checker
// judges: JSON lines, OpenTelemetry spans (OTLP as JSON lines) and CSV.
//
//	files, stdin ──► Importer.Read ──► Importer.Log ──► Log.All, Log.Parts ──► checker
//	                 lines to events   events to holds  holds to histories
//
// A log has fewer and less exact facts than a history. The package guesses nothing: it counts
// missing facts and lists them with their line numbers (Log.Problems), and a hold with an unknown
// end proves nothing. The clocks of several hosts differ, and times in a log have a limited
// precision, so each hold has two forms. Its certain form is shorter by the clock error, by the
// last digit, and by the duration of calls of which only the return is logged; if the log has no
// release, it ends with the last extension. The client relied on the lock during the certain form
// for all possible clock errors and missing lines. Only overlaps of certain holds are violations.
// The exact form takes every time as logged; overlaps of exact holds alone are "possible".
//
// Ten million lines take less than 2 GB: an event is 64 bytes without pointers, holds replace
// the events in place, and Parts makes one part of the history at a time.
package logs
