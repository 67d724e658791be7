// Package watch reads what real clients say to a real Redis, and finds what is wrong with their
// locks.
//
//	client ──► Proxy ──► Redis          the bytes pass first, unchanged
//	             │ copies
//	             ▼
//	            tap ──► resp.Conversation ──► Lint ──► findings, figures, a history
//
// One goroutine reads all copies, beside the connections and never before them. If it cannot
// keep up, the tap drops copies and counts them: the clients never wait for it.
//
// A key is a lock's if commands use it as one: somebody creates it only if it does not exist,
// and somebody is refused, extends it or releases it. Tokens are kept as salted hashes only, and
// all other values are dropped as they are read.
package watch
