// Package fault is the registry of the kinds of fault: what each of them does to masters, their
// memory and clocks, to links and to clients, which drivers have it, what it assumes, and how
// reports word and colour it.
//
// All other packages use these facts and compare no names. To add a fault, add its entry
// to Kinds and implement it in package nemesis.
package fault
