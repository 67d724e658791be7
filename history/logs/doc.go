// Package logs turns logs of locks that Lockpick never ran into histories that the checker
// judges: JSON lines, OpenTelemetry spans (OTLP as JSON lines) and CSV.
//
//	files, stdin ──► Importer.Read ──► Importer.Log ──► Log.All, Log.Parts ──► checker
//	                 lines to events   events to holds  holds to histories
//
// A log says less than a history, and less exactly. Nothing is guessed: missing facts are
// counted and listed with their line numbers (Log.Problems), and a hold whose end is not
// known proves nothing. Clocks of several hosts differ, and a log has only so many digits, so
// each hold has two forms. Its certain form is shorter by the clock error, by the last digit
// and by the time of calls of which only the return is logged; and where the log has no release,
// it ends with the last extension. Whatever the clocks were and whichever lines are missing, the
// client relied on the lock during the certain form. Only overlaps of certain holds are
// violations. The exact form takes every time as logged; overlaps of exact holds alone are
// "possible".
//
// Ten million lines take less than 2 GB: an event is 64 bytes without pointers, holds replace
// the events in place, and the histories are made part by part.
package logs
