// Package watch reads the traffic between real clients and a real Redis, and finds errors in the
// clients' locks.
//
//	client ──► Proxy ──► Redis          the bytes pass first, unchanged
//	             │ copies
//	             ▼
//	            tap ──► resp.Conversation ──► Lint ──► findings, figures, a history
//
// One goroutine reads all copies, independently of the connections. If it cannot keep up, the tap
// drops copies and counts them, so that clients never wait for it.
//
// A key counts as a lock if clients use it as one: a client creates it only if it does not exist,
// and a client extends it or releases it, or is refused a key without a TTL. Tokens are kept only as salted hashes, and
// all other values are dropped when they are read.
package watch
