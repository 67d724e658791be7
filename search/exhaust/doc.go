// Package exhaust tries every schedule within small Bounds. Each execution follows a path of choices in its
// own simulated world, and the search continues from each state only once.
//
// Choices are tried in the order of a frontier: those with the fewest faults first, and of these the earliest.
// Neither faults nor time decrease along a run. So the search ends when no open choice is as short as the shortest
// violation that it found. Of several such violations it reports the one whose path comes first in lexicographic
// order. Nothing that it reports depends on the number of workers.
//
// A failed call of the lock ends the search at once, because nothing can end a call that hangs. A violation is
// reported instead only if it is shorter than everything that was yet to try.
package exhaust
