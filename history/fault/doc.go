// Package fault is the registry of the kinds of fault: what each of them does to masters, their
// memory and clocks, to links and to clients, which drivers support it, what it assumes, and
// its texts and colours in reports.
//
// All other packages use these facts and never compare names. To add a fault, add its entry to
// Kinds and implement it in package nemesis.
package fault
