//go:build real

package sampletest

// Whole is true if all cases are tried.
const Whole = true
