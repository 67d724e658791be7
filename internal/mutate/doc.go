// Package mutate tests the tests of the checkers: it plants one fault at a time in checker and history, and
// requires that their tests fail.
package mutate
