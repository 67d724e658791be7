//go:build !real

package sampletest

// tagged is true if the tests have the tag real.
const tagged = false
