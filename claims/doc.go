// Package claims contains the catalogue of claims about locks, and verifies them: it runs the
// scenarios of each claim and compares the results with what the claim expects.
package claims
