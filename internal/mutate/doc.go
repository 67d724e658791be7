// Package mutate tests the tests of the checkers: it plants one fault at a time in checker and history, and
// requires that their tests fail.
//
// A mutant names a function, an operator and identifiers at the place, so that edits of the code around do not
// matter. All mutants of functions are built into one program, which is told at its start which of them acts.
package mutate
