// Package claims holds the catalogue of claims about locks, and verifies them: it runs the
// scenarios of each claim and compares what they show with what the claim expects.
package claims
