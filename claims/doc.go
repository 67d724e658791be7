// Package claims contains the catalogue of claims about locks, and verifies them: it runs the
// scenarios of each claim and compares the verdicts with the expected ones.
package claims
