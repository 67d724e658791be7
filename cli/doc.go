// Package cli is the command line of Lockpick: eighteen commands in four groups, of which each parses flags, calls the package that does
// the work (campaign, audit, claims, search, watch, risk), and prints what reports makes of the result.
//
// What the commands share: scenario.go makes the flags of a scenario from its declaration, help.go shows the flags that people
// use and those of --help-all, output.go writes every file that a flag names, progress.go fits what is going on into the terminal,
// trust.go asks before a program of somebody else is started, and main.go turns the outcome into an exit code: 0 nothing was
// violated, 1 something was, 2 undecided, 64 bad usage, 70 an error of the harness.
//
// Main runs all of that with locks of the caller beside the built-in ones (examples/own-main).
package cli
