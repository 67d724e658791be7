package checker

import "lockpick/history"

// returns judges one part of AV: every call of the lock returns within its deadline plus a
// bound. The harness records each call that does not, with the stack of the stuck goroutine.
func (r *run) returns() *judgement {
	return r.callsThat(history.FHung, "did not return", "all %s returned")
}
