// Package mutate tests the tests of the checkers: it breaks checker and history in one place
// at a time and requires that their tests notice.
package mutate
