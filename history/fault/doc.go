// Package fault is the registry of the kinds of fault: what each of them does to masters, their
// memory and clocks, to links and to clients, which drivers have it, what it assumes, and how
// reports word and colour it.
//
// Everything else asks for these facts, and compares no names. To add a fault, add its entry
// to Kinds, and carry it out in package nemesis.
package fault
