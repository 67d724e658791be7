// Package sampletest lets a test with many long cases try some of them in `make test`, and all of them with the
// tag real, in `make test-real`.
package sampletest

import (
	"math/rand/v2"
	"testing"
)

// Of returns a function that reports whether the test tries its case number i: with the tag real each case, without it
// one of every n, beginning with a random one. It logs which.
func Of(t testing.TB, n int) func(i int) bool {
	t.Helper()
	if Whole {
		return func(int) bool { return true }
	}
	first := rand.IntN(n)
	t.Logf("one of every %d cases, from number %d on: all with the tag real", n, first)
	return func(i int) bool { return i%n == first }
}

// Count returns a number of cases: with the tag real the whole of it, without it an n-th.
func Count(whole, n int) int {
	if Whole {
		return whole
	}
	return max(1, whole/n)
}
