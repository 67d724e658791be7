// Package search runs many schedules and looks for violations in them.
//
// An Engine runs the schedules of several Series on some workers at a time: in order, each in bounded real time, until what each
// series asks is settled. Explore is a series that draws short schedules from a scenario; claims, audits and estimates of
// risk are tables of other series, each with a rule of what settles it. A Bench runs schedules for claims and audits on the
// masters of a driver, and keeps those that are evidence as runs.
//
// A Part has what one process found of a Job that several share. Its file grows with each unit that is done, so a process
// that was killed goes on where its file ends, and ReadParts unites the files.
//
// Replay runs a scenario again, also on real masters. Below this package, reduce shrinks a violation, and exhaust tries
// every schedule within bounds.
package search
