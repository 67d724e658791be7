// Package fault is the registry of the kinds of faults: the effect of each on masters, their memory
// and clocks, on links and on clients, which drivers support it, what it assumes, and its texts and
// colours in reports.
//
// All other packages use these facts and never compare the names of faults. To add a fault, add its
// entry to Kinds and implement it in package nemesis.
package fault
