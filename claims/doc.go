// Package claims contains the catalogue of claims about locks, and verifies them: it runs the
// scenarios of each claim and compares the verdicts with the expected ones.
//
// catalogue.go and claim.go read claims, verify.go runs their cases, result.go has what they showed, and terminal.go, page.go,
// junit.go and markdown.go render that.
package claims
